"""Settings come from a file, the environment and the command line, and every one of them is documented."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gateway.configuration import Configuration, ConfigurationError, load, reference

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_later_source_wins(tmp_path: Path) -> None:
    file = tmp_path / "hatchway.toml"
    file.write_text('port = 1000\nhost = "0.0.0.0"\nhttp2 = false\ncors_origins = ["https://a.example"]\n')
    assert load(None, {}) == Configuration()
    assert (load(file, {}).port, load(file, {}).http2) == (1000, False)
    assert load(file, {}).cors_origins == ("https://a.example",)
    environment = {"HATCHWAY_PORT": "2000", "HATCHWAY_CORS_ORIGINS": "https://b.example, https://c.example", "OTHER": "x"}
    made = load(file, environment)
    assert (made.port, made.host, made.cors_origins) == (2000, "0.0.0.0", ("https://b.example", "https://c.example"))
    assert load(file, environment, port=3000, host=None).port == 3000
    assert load(None, {"HATCHWAY_ACCESS_LOG": "False"}).access_log is False


@pytest.mark.parametrize(
    ("text", "environment", "message"),
    [
        ("prot = 1", {}, "did you mean 'port'"),
        ("port = 'x'", {}, "port"),
        ("port = 70000", {}, "65535"),
        ("port = ", {}, "not TOML"),
        ("", {"HATCHWAY_PORT": "x"}, "port"),
        ("", {"HATCHWAY_HTTP2": "maybe"}, "http2"),
        ("", {"HATCHWAY_WORKERS": "threads"}, "workers is one of processes, in-process, and not 'threads'"),
        ("metrics = 'all'", {}, "metrics is one of operator, admin, loopback, open, off"),
        ("database_url = 'foo'", {}, "database_url begins with postgresql:// or postgres://"),
        ("", {"HATCHWAY_DATABASE_URL": "sqlite:a.db"}, "for the embedded store, set data"),
        ("tls_key = 'k.pem'", {}, "belong together"),
        ("tls_client_ca = 'c.pem'", {}, "needs"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_an_error_that_names_it(
    tmp_path: Path, text: str, environment: dict[str, str], message: str
) -> None:
    file = tmp_path / "hatchway.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        load(file, environment)


def test_a_variable_that_looks_like_a_setting_and_is_none_is_warned_of_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    others = {"HATCHWAY_TOKEN": "t", "HATCHWAY_CACHE": "/c", "HATCHWAY_HOOK_ID": "h", "PATH": "/bin", "HATCHWAY_PORT": "1"}
    load(None, others)
    assert caplog.messages == []
    assert load(None, {**others, "HATCHWAY_PROT": "9", "HATCHWAY_XYZZY": "1"}).port == 1
    assert caplog.messages == [
        "HATCHWAY_PROT is not a setting and is ignored; did you mean HATCHWAY_PORT?",
        "HATCHWAY_XYZZY is not a setting and is ignored",
    ]


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="cannot read"):
        load(Path("/nonexistent/hatchway.toml"), {})


def test_every_setting_is_documented_and_the_page_is_the_generated_one() -> None:
    assert DOCS.read_text("utf-8") == reference(), "run: python -m gateway.configuration > docs/configuration.md"
    for name in Configuration.__struct_fields__:
        line = next(line for line in reference().splitlines() if line.startswith(f"| `{name}` |"))
        assert len(line.split("|")[4].strip()) > 20, f"{name} has no description"


def test_the_defaults_are_a_valid_configuration() -> None:
    made = msgspec.convert(msgspec.to_builtins(Configuration()), Configuration)
    assert made == Configuration()
    assert made.host == "127.0.0.1"
