"""Spelling variants and short forms of English words, which are indexed as one term.

Synonyms are not among them: these are in the English glossary (`glossary/en.tsv`).
"""

from __future__ import annotations

__all__ = ["SAME"]

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


_LINES = [line for line in map(str.strip, _SAME.splitlines()) if line]

SAME = {form: base for line in _LINES for base, _, forms in [line.partition(":")] for form in forms.split()}
