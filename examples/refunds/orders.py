"""The shop's orders as an MCP server: `orders_find` and `orders_refund`."""

from mcp.server import MCPServer

server = MCPServer("orders")
ORDERS = {"ann": [{"order": "o-1", "price_eur": 40, "card": "4000-1234-5678-9010"}]}


@server.tool()
def find(customer: str) -> dict[str, list[dict[str, object]]]:
    """The orders of a customer."""
    return {"orders": ORDERS.get(customer, [])}


@server.tool()
def refund(order: str, amount: int) -> dict[str, object]:
    """Give money back."""
    return {"order": order, "refunded": amount}


if __name__ == "__main__":
    server.run("stdio")
