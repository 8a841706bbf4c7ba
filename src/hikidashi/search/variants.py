"""English words that mean the same: other spellings and short forms, and near-synonyms of tool vocabulary.

`SAME` are one word to an index. `RELATED` stay different words: a question for one also looks for the others,
which then count less.
"""

from __future__ import annotations

__all__ = ["RELATED", "SAME"]

_SAME = """
    administrator: admin admins
    advertisement: ad ads advert adverts
    application: app apps
    authentication: auth
    average: avg
    behavior: behaviour behaviours
    calculate: calc
    canceled: cancelled cancelling cancellation cancellations
    catalog: catalogue catalogues
    center: centre centres
    color: colour colours coloured
    configuration: config configs
    cryptocurrency: crypto cryptos
    database: db dbs
    description: desc
    development: dev
    dialog: dialogue dialogues
    directory: dir dirs
    document: doc docs
    environment: env envs
    favorite: favourite favourites fav
    flavor: flavour flavours
    gray: grey
    humor: humour
    image: img imgs
    information: info infos
    labor: labour
    language: lang
    latitude: lat
    license: licence licences
    longitude: lon lng
    mail: email emails emailed emailing emailer
    maximum: max
    message: msg msgs
    minimum: min
    neighbor: neighbour neighbours neighbourhood neighborhood
    notification: notif
    number: num nums
    organization: org orgs
    parameter: param params
    password: pwd passwd
    percent: percentage pct
    photo: photograph photographs
    picture: pic pics
    previous: prev
    program: programme programmes
    quantity: qty
    reference: ref refs
    repository: repo repos
    specification: spec specs
    statistic: stat stats
    synchronize: sync syncs
    telephone: phone phones
    television: tv
    temporary: tmp
    theater: theatre theatres
    tire: tyre tyres
    transaction: txn txns
    travel: traveller travellers travelled travelling
    vaccine: vaccination vaccinate
"""

_RELATED = """
    add create insert
    alarm alert warning
    answer reply respond
    appointment event meeting
    apartment flat
    attorney lawyer
    automobile car vehicle
    average mean
    begin launch start
    book reserve
    bug issue ticket
    business company firm
    buy order purchase
    calculate compute
    change edit modify update
    chat message
    check validate verify
    city town
    client customer
    clip video
    clone copy duplicate
    comment note remark
    convert transform
    cost fee price
    country nation
    delete erase remove wipe
    deploy release ship
    directory folder
    doctor physician
    document file
    download export
    drug medication medicine
    employee staff worker
    enroll register signup
    exam quiz test
    film movie
    find locate lookup search
    forecast prediction
    halt stop terminate
    headline news
    hotel lodging accommodation
    home house property
    incident outage
    image photo picture
    job position vacancy
    journey trip
    label tag
    latest recent
    link url
    login signin
    mute silence
    plan schedule
    post publish
    quote quotation
    recover restore
    revert rollback undo
    send deliver
    site website webpage
    song track
    sound audio
    student pupil
    sum total
    teacher instructor
    ticket task
    trash bin
    upload import
    vacation holiday
"""


def _lines(table: str) -> list[str]:
    return [line for line in map(str.strip, table.splitlines()) if line]


SAME = {form: base for line in _lines(_SAME) for base, _, forms in [line.partition(":")] for form in forms.split()}

RELATED: dict[str, tuple[str, ...]] = {}
for _group in (line.split() for line in _lines(_RELATED)):
    for _word in _group:
        RELATED[_word] = (*RELATED.get(_word, ()), *(other for other in _group if other != _word))
