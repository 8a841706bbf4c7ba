"""An example MCP server with 1,000 tools: what the systems of a company offer together, each in five ways.

    python examples/company_server.py

The records are kept in memory: what one tool creates, the others find, change, export and delete.
"""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import count
from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

SYSTEMS = {
    "accounting": """
        invoice(customer, amount, due_date) bill(supplier, amount, due_date) payment(payer, amount, method)
        credit_note(customer, amount, reason) bank_account(bank, holder, currency)
        journal_entry(account, amount, memo) tax_return(year, office, status) cost_center(title, manager, budget)
    """,
    "archive": """
        document(title, author, text) folder(title, owner) scan(pages, source) retention_rule(kind, years)
        access_request(person, document, reason) loan(document, borrower, return_date) label(title, color)
        disposal(document, date, approved_by)
    """,
    "billing": """
        subscription(customer, plan, start_date) price_plan(title, price, period) coupon(code, percent)
        usage_record(customer, meter, quantity) refund(customer, amount, reason) dunning_letter(customer, level)
        billing_address(customer, street, city) payment_method(customer, kind, expires)
    """,
    "clinic": """
        patient(name, birthday, phone) appointment(patient, doctor, time) prescription(patient, drug, dose)
        lab_result(patient, test, value) vaccination(patient, vaccine, date) referral(patient, specialist, reason)
        allergy(patient, substance, severity) treatment_plan(patient, goal, weeks)
    """,
    "crm": """
        contact(name, company, email) lead(name, source, score) deal(customer, amount, stage)
        phone_call(contact, date, summary) customer_visit(customer, date, purpose)
        quote(customer, amount, valid_until) competitor(name, strength) sales_territory(region, seller)
    """,
    "delivery": """
        parcel(recipient, address, weight) route(driver, stops) driver(name, phone, license)
        pickup(customer, address, time) delivery_attempt(parcel, time, outcome)
        customs_form(parcel, contents, value) vehicle(plate, model, capacity) damage_report(parcel, description)
    """,
    "devops": """
        deployment(service, version, environment) incident(title, severity, service) alert(metric, threshold)
        server(host, region, size) certificate(domain, expires) feature_flag(name, enabled) backup(service, date)
        on_call_shift(person, start, end)
    """,
    "documents": """
        contract(party, subject, end_date) template(title, text) signature_request(document, signer)
        policy(title, text, valid_from) translation(document, language) comment(document, author, text)
        meeting_minutes(meeting, date, text) approval(document, approver)
    """,
    "energy": """
        meter_reading(meter, value, date) tariff(title, price_per_kwh) solar_panel(location, watts)
        power_outage(area, start, cause) charging_station(location, plugs) heating_schedule(building, time, degrees)
        energy_report(building, month) inspection(device, date, inspector)
    """,
    "events": """
        conference(title, city, date) speaker(name, topic, bio) ticket(event, buyer, price) sponsor(company, amount)
        venue(name, city, seats) session(title, speaker, time) name_badge(person, company)
        feedback_form(event, rating, text)
    """,
    "facilities": """
        meeting_room_booking(room, person, time) desk_booking(desk, person, day)
        repair_request(place, problem, urgency) visitor(name, host, arrival) key_card(person, doors)
        cleaning_order(place, date) parking_space(number, person) lost_item(description, place, date)
    """,
    "farm": """
        field(name, hectares, crop) harvest(field, date, tons) animal(tag, species, birthday)
        irrigation_plan(field, hours) fertilizer_order(product, kilos) milk_record(animal, liters)
        weather_station(location, sensor) tractor(model, hours)
    """,
    "helpdesk": """
        support_ticket(customer, subject, priority) reply(ticket, text) knowledge_article(title, text)
        escalation(ticket, team, reason) satisfaction_rating(ticket, score) service_level(title, hours)
        canned_response(title, text) callback(customer, phone, time)
    """,
    "hotel": """
        room_reservation(guest, room, nights) guest(name, country, email) room(number, beds, price)
        housekeeping_task(room, day) minibar_charge(room, item, price) wake_up_call(room, time)
        shuttle_ride(guest, pickup, time) complaint(guest, subject)
    """,
    "hr": """
        employee(name, role, start_date) leave_request(person, from_date, to_date) sick_note(person, days)
        job_opening(title, team, location) job_application(applicant, job, resume)
        interview(applicant, time, interviewer) performance_review(person, year, rating)
        training(person, course, date)
    """,
    "insurance": """
        policy_holder(name, birthday, address) claim(holder, date, damage) premium(holder, amount, period)
        accident_report(place, time, parties) risk_assessment(object, score) payout(claim, amount)
        coverage(kind, limit) broker(name, region)
    """,
    "legal": """
        case(title, court, judge) hearing(case, date, room) client(name, phone) deadline(case, date, subject)
        evidence(case, description) power_of_attorney(person, scope) trademark(name, class_number)
        patent(title, inventor, country)
    """,
    "library": """
        book(title, author, isbn) book_loan(book, reader, due_date) reader_card(name, expires)
        reservation(book, reader) overdue_fine(reader, amount) reading_room_seat(seat, reader, time)
        magazine(title, issue) author_event(author, date, seats)
    """,
    "marketing": """
        campaign(title, channel, budget) newsletter(subject, text, send_date) mailing_list(title, addresses)
        landing_page(title, url) advertisement(title, network, budget) survey(title, questions)
        press_release(title, text, date) social_post(network, text, time)
    """,
    "procurement": """
        purchase_order(supplier, item, quantity) supplier(name, country, contact) request_for_quote(item, quantity)
        goods_receipt(order, quantity) framework_agreement(supplier, end_date) supplier_rating(supplier, score)
        catalog_item(title, price) approval_limit(role, amount)
    """,
    "project": """
        milestone(title, date) timesheet(person, project, hours) risk(title, probability, impact)
        bug_report(title, steps, severity) sprint(goal, start, end) user_story(title, points)
        retrospective(sprint, text) budget_line(project, title, amount)
    """,
    "restaurant": """
        table_reservation(guest, people, time) menu_item(title, price, ingredients) kitchen_order(table, dish)
        ingredient_stock(ingredient, quantity) gift_card(code, amount) waiter_shift(waiter, day, hours)
        tip(waiter, amount) review(guest, stars, text)
    """,
    "school": """
        student(name, grade, birthday) course(title, teacher, room) exam(course, date) grade(student, exam, mark)
        absence(student, day, reason) parent_meeting(parent, teacher, time) homework(course, text, due_date)
        school_trip(place, date, cost)
    """,
    "travel": """
        flight_booking(passenger, flight, date) train_ticket(passenger, route, date) rental_car(driver, city, days)
        visa_application(traveler, country) travel_request(person, city, reason) per_diem(city, amount)
        travel_insurance(traveler, days) seat_preference(traveler, seat)
    """,
    "warehouse": """
        stock_item(title, quantity, shelf) shipment(customer, items, date) stock_count(shelf, counted)
        pallet(contents, weight) return_shipment(customer, item, reason) shelf(aisle, height)
        transfer(item, from_shelf, to_shelf) packing_list(shipment, items)
    """,
}

VERBS = {
    "create": "Create a new {thing} in the {system} system, with {fields}.",
    "find": "Find each {thing} of the {system} system whose {fields} match.",
    "update": "Change the {fields} of one {thing} in the {system} system.",
    "delete": "Delete or cancel one {thing} in the {system} system.",
    "export": "Download every {thing} of the {system} system as a CSV file.",
}
READS = ("find", "export")

Record = dict[str, Any]
numbers = count(1)
records: dict[str, dict[int, Record]] = {}
"""The records of each kind, such as `crm_contact`, by their id."""


def kinds() -> dict[str, tuple[str, str, list[str]]]:
    """System, thing and fields of each kind of record."""
    found: dict[str, tuple[str, str, list[str]]] = {}
    for system, things in SYSTEMS.items():
        for name, fields in re.findall(r"(\w+)\((.*?)\)", things):
            found[f"{system}_{name}"] = system, name, fields.split(", ")
    return found


def tool(verb: str, system: str, thing: str, fields: list[str]) -> types.Tool:
    """The tool that does `verb` to a kind of record."""
    plain = [field.replace("_", " ") for field in fields]
    listed = " and ".join([", ".join(plain[:-1]), plain[-1]]) if plain[1:] else plain[0]
    given = {field: {"type": "string"} for field in fields} if verb in ("create", "find", "update") else {}
    properties = {"id": {"type": "integer"}, **given} if verb in ("update", "delete") else given
    required = {"create": fields, "update": ["id"], "delete": ["id"]}.get(verb, [])
    return types.Tool(
        name=f"{system}_{verb}_{thing}",
        description=VERBS[verb].format(thing=thing.replace("_", " "), system=system, fields=listed),
        input_schema={"type": "object", "properties": properties, "required": required},
        annotations=types.ToolAnnotations(read_only_hint=verb in READS, destructive_hint=verb == "delete"),
    )


TOOLS = {
    made.name: (verb, kind, made)
    for kind, (system, thing, fields) in kinds().items()
    for verb in VERBS
    for made in [tool(verb, system, thing, fields)]
}


def perform(verb: str, kind: str, given: Record) -> Any:
    """Run the tool; raises ValueError if there is no such record."""
    kept = records.setdefault(kind, {})
    record_id = given.pop("id", None)
    if verb in ("update", "delete") and record_id not in kept:
        raise ValueError(f"There is no {kind} {record_id}. Ids: {', '.join(map(str, kept)) or 'none'}.")
    match verb:
        case "create":
            record_id = next(numbers)
            kept[record_id] = {"id": record_id, **given}
            return kept[record_id]
        case "update":
            kept[record_id].update(given)
            return kept[record_id]
        case "delete":
            return {"deleted": kept.pop(record_id)}
        case "find":
            wanted = {name: str(value).casefold() for name, value in given.items()}
            return [one for one in kept.values() if all(wanted[name] in str(one[name]).casefold() for name in wanted)]
        case _:
            file = io.StringIO()
            writer = csv.DictWriter(file, ["id", *kinds()[kind][2]])
            writer.writeheader()
            writer.writerows(kept.values())
            return file.getvalue()


async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """All tools."""
    return types.ListToolsResult(tools=[made for _, _, made in TOOLS.values()])


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The result of one tool."""
    try:
        verb, kind, made = TOOLS[params.name]
        given = dict(params.arguments or {})
        if missing := [name for name in made.input_schema["required"] if name not in given]:
            raise ValueError(f"{params.name} needs {', '.join(missing)}.")
        if unknown := sorted(set(given) - set(made.input_schema["properties"])):
            raise ValueError(f"{params.name} has no {', '.join(unknown)}.")
        result = perform(verb, kind, given)
    except KeyError:
        return failed(f"There is no tool {params.name!r}.")
    except ValueError as error:
        return failed(str(error))
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)])


def failed(why: str) -> types.CallToolResult:
    """A result that reports an error."""
    return types.CallToolResult(content=[types.TextContent(text=why)], is_error=True)


server = Server(
    "company",
    instructions=f"Records of the systems of a company: {', '.join(SYSTEMS)}.",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)


async def main() -> None:
    """Serve over standard input and output."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
