"""An example MCP server: household expenses and budgets, kept in memory and with this month's in it.

python examples/expenses_server.py
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from itertools import count
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
DELETES = ToolAnnotations(destructive_hint=True)
Category = Literal["food", "home", "travel", "health", "fun"]

server = MCPServer(
    "expenses", instructions="What was spent on what, budgets, and who owes how much. Amounts are in yen."
)


@dataclass
class Expense:
    """Money that was spent."""

    id: int
    day: date
    amount: int
    category: Category
    what: str
    shared_by: int = 1


numbers = count(1)
expenses: dict[int, Expense] = {}
budgets: dict[Category, int] = {"food": 40_000, "fun": 15_000}


def known(expense_id: int) -> Expense:
    """The expense with this number."""
    if expense_id not in expenses:
        raise ToolError(f"There is no expense {expense_id}. list_expenses shows the ids.")
    return expenses[expense_id]


def positive(amount: int) -> int:
    """The amount, if it is above 0."""
    if amount <= 0:
        raise ToolError(f"The amount is {amount}: give a number above 0.")
    return amount


def today() -> date:
    """The local date."""
    return datetime.now().astimezone().date()


@server.tool()
def add_expense(amount: int, what: str, category: Category, day: date | None = None) -> Expense:
    """Record money that was spent, today or on another day."""
    expense = Expense(next(numbers), day or today(), positive(amount), category, what)
    expenses[expense.id] = expense
    return expense


@server.tool()
def correct_expense(expense_id: int, amount: int | None = None, category: Category | None = None) -> Expense:
    """Correct the amount or the category of an expense."""
    expense = known(expense_id)
    expense.amount = expense.amount if amount is None else positive(amount)
    expense.category = category or expense.category
    return expense


@server.tool(annotations=DELETES)
def delete_expense(expense_id: int) -> str:
    """Delete an expense that was recorded by mistake."""
    return f"Deleted: {expenses.pop(known(expense_id).id).what}."


@server.tool(annotations=READS)
def list_expenses(month: str | None = None, category: Category | None = None) -> list[Expense]:
    """List the expenses of a month such as 2026-11 (this one by default), of one category or all."""
    wanted = month or f"{today():%Y-%m}"
    of_month = [expense for expense in expenses.values() if f"{expense.day:%Y-%m}" == wanted]
    return [expense for expense in of_month if category in (None, expense.category)]


@server.tool(annotations=READS)
def find_expenses(text: str) -> list[Expense]:
    """Find expenses by a word of what was bought."""
    return [expense for expense in expenses.values() if text.casefold() in expense.what.casefold()]


@server.tool(annotations=READS)
def spending_by_category(month: str | None = None) -> dict[str, int]:
    """How much was spent on food, home, travel, health and fun in a month."""
    spent = Counter[str]()
    for expense in list_expenses(month):
        spent[expense.category] += expense.amount
    return dict(spent)


@server.tool(annotations=READS)
def biggest_expenses(limit: int = 5) -> list[Expense]:
    """The highest expenses of this month."""
    return sorted(list_expenses(), key=lambda expense: -expense.amount)[:limit]


@server.tool()
def set_budget(category: Category, amount: int) -> dict[Category, int]:
    """Set how much may be spent on a category in a month."""
    budgets[category] = positive(amount)
    return budgets


@server.tool(annotations=READS)
def check_budgets() -> dict[str, int]:
    """How much of each budget is left this month; below zero, it is exceeded."""
    spent = spending_by_category()
    return {category: budget - spent.get(category, 0) for category, budget in budgets.items()}


@server.tool()
def split_expense(expense_id: int, people: int) -> str:
    """Share the cost of an expense among several people."""
    expense = known(expense_id)
    if people < 1:
        raise ToolError(f"{people} people cannot share a cost: give 1 or more.")
    expense.shared_by = people
    return f"{expense.what}: {expense.amount / people:,.0f} yen each."


@server.tool(annotations=READS)
def who_owes_me() -> dict[str, int]:
    """What the others still owe for shared expenses."""
    shared = [expense for expense in expenses.values() if expense.shared_by > 1]
    return {one.what: round(one.amount * (one.shared_by - 1) / one.shared_by) for one in shared}


@server.tool(annotations=READS)
def export_expenses(month: str | None = None) -> str:
    """The expenses of a month as a CSV file."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [field.name for field in fields(Expense)])
    writer.writeheader()
    writer.writerows(asdict(expense) for expense in list_expenses(month))
    return file.getvalue()


add_expense(6_480, "Groceries", "food")
add_expense(1_940, "Lunch with Sato", "food")
add_expense(13_320, "Train to Kyoto", "travel")

if __name__ == "__main__":
    server.run()
