"""Which connection gives way to which."""

from __future__ import annotations

from gateway.http.transport.shares import GRACE_S, RESERVE, RESERVE_EACH, Seat, Shares


def take(shares: Shares, address: str, now_s: float = 0.0) -> Seat:
    seat = shares.take(address, now_s)
    assert seat is not None
    return seat


def gone(*seats: Seat) -> list[Seat]:
    """Filled with those that give way."""
    left: list[Seat] = []
    for seat in seats:
        seat.give_way = lambda seat=seat: left.append(seat)  # type: ignore[misc]
    return left


def test_the_connection_that_has_shown_no_token_for_longest_gives_way_first() -> None:
    shares = Shares(100, 4)
    seats = [take(shares, "198.51.100.1", float(at)) for at in range(4)]
    left = gone(*seats)
    seats[0].is_known = True
    for _ in range(3):
        assert not take(shares, "198.51.100.1", 10.0).is_reserve
    assert left == [seats[1], seats[2], seats[3]] and len(shares) == 4


def test_one_that_answers_an_admitted_caller_never_gives_way() -> None:
    shares = Shares(100, 2)
    seats = [take(shares, "198.51.100.1"), take(shares, "198.51.100.1")]
    left = gone(*seats)
    for seat in seats:
        seat.is_known = seat.is_busy = True
    reserved = [shares.take("198.51.100.1", 10.0) for _ in range(RESERVE_EACH + 1)]
    assert not left and reserved[-1] is None and all(seat is not None and seat.is_reserve for seat in reserved[:-1])
    seats[1].is_busy = False
    assert not take(shares, "198.51.100.1", 10.0).is_reserve and left == [seats[1]]


def test_a_request_that_has_just_begun_has_time_to_show_its_token() -> None:
    shares = Shares(100, 1)
    seat = take(shares, "198.51.100.1")
    left = gone(seat)
    seat.is_busy = True
    assert take(shares, "198.51.100.1", GRACE_S / 2).is_reserve and not left
    assert not take(shares, "198.51.100.1", GRACE_S * 2).is_reserve and left == [seat]


def test_tm_http_flood_a_full_service_takes_from_the_address_that_has_most_to_spare() -> None:
    shares = Shares(6, 4)
    many = [take(shares, "198.51.100.1") for _ in range(4)]
    few = [take(shares, "198.51.100.2") for _ in range(2)]
    left = gone(*many, *few)
    assert (not take(shares, "198.51.100.3", 1.0).is_reserve and left == [many[0]]) or left[0] in many
    assert len(shares) == 6


def test_an_ipv6_client_is_its_network_and_a_mapped_address_is_the_ipv4_one() -> None:
    shares = Shares(100, 2)
    for last in range(5):
        take(shares, f"2001:db8::{last}", float(last))
    assert len(shares) == 2
    take(shares, "2001:db8:0:1::1")
    assert len(shares) == 3
    for address in ("198.51.100.1", "::ffff:198.51.100.1", "198.51.100.1"):
        take(shares, address)
    assert len(shares) == 5


def test_a_proxy_has_no_share_and_gives_nothing_up() -> None:
    shares = Shares(8, 2, ["198.51.100.0/24"])
    proxied = [take(shares, "198.51.100.9") for _ in range(7)]
    left = gone(*proxied)
    other = [take(shares, "203.0.113.1")]
    left_too = gone(*other)
    assert not take(shares, "203.0.113.2").is_reserve and left_too == other
    another = take(shares, "198.51.100.9", 1.0)
    assert not another.is_reserve and not left, "what the proxy has does not give way"
    assert take(shares, "203.0.113.3", 2.0).is_reserve


def test_the_reserve_has_an_end_and_places_are_given_back() -> None:
    shares = Shares(1, 1)
    first = take(shares, "198.51.100.1")
    first.is_known = first.is_busy = True
    seats = [shares.take(f"203.0.113.{at}", 1.0) for at in range(RESERVE + 1)]
    assert seats[-1] is None and len(shares) == RESERVE + 1
    for seat in (first, *seats[:-1]):
        assert seat is not None
        shares.leave(seat)
        shares.leave(seat)
    assert len(shares) == 0 and not shares._seats
