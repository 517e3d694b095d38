"""The wire types are the contract's: names, defaults, bytes as arrays of integers."""

from __future__ import annotations

import msgspec
import pytest

from gateway.runners.wire import (
    Artifact,
    ArtifactRequest,
    Binding,
    Command,
    CommandResult,
    Destination,
    FileContents,
    Mount,
    MountIntent,
    Octets,
    Port,
    PortPreview,
    RunnerCapabilities,
    SecretRef,
    SessionState,
    SnapshotRef,
    WriteFile,
    decode,
    encode,
)


def test_bytes_travel_as_arrays_of_integers() -> None:
    assert encode(FileContents(path="a", contents=Octets(b"\x00\xff"))) == b'{"path":"a","contents":[0,255]}'
    assert decode(b'{"path":"a","contents":[1,2]}', WriteFile).contents == b"\x01\x02"


@pytest.mark.parametrize("contents", ["[256]", "[-1]", "[1.5]", "[true]", '"AQI="', '["1"]'])
def test_what_is_no_array_of_bytes_is_refused(contents: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"path":"a","contents":%s}' % contents.encode(), WriteFile)


def test_capabilities_require_six_and_default_the_rest_to_false() -> None:
    names = ("command_exec", "file_read", "file_write", "port_preview", "snapshots", "cancellation")
    for missing in names:
        with pytest.raises(msgspec.ValidationError, match=missing):
            decode(msgspec.json.encode({name: True for name in names if name != missing}), RunnerCapabilities)
    found = msgspec.to_builtins(decode(msgspec.json.encode(dict.fromkeys(names, True)), RunnerCapabilities))
    assert found["artifact_export"] is False
    kinds = ["s3", "gcs", "r2", "azure_blob", "box_storage", "provider_native"]
    assert found["mounts"] == dict.fromkeys(kinds, False)


def test_a_destination_defaults_to_no_config_and_an_empty_manifest() -> None:
    made = decode(b'{"id":"d","provider_id":"wasm"}', Destination)
    assert encode(made) == b'{"id":"d","provider_id":"wasm","config":null,"default_manifest":{"entries":[],"mounts":[]}}'


def test_a_mount_intends_provider_native_storage_and_leaves_absent_credentials_out() -> None:
    assert encode(Mount(name="m", path="p")) == (
        b'{"name":"m","path":"p","read_only":false,"intent":{"kind":"provider_native","uri":""}}'
    )
    intent = MountIntent(kind="s3", uri="s3://b", credentials=SecretRef("k"))
    assert encode(intent) == b'{"kind":"s3","uri":"s3://b","credentials":{"id":"k"}}'


def test_credentials_have_room_for_a_reference_only() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"kind":"s3","uri":"","credentials":{"id":"k","value":"hunter2"}}', MountIntent)


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (
            SessionState(provider_id="p", session_id="s", destination_id="d"),
            "provider_id session_id destination_id snapshot metadata",
        ),
        (SnapshotRef(provider_id="p", snapshot_id="s"), "provider_id snapshot_id metadata"),
        (Binding(destination=Destination(id="d", provider_id="p"), workspace="/w"), "destination workspace read_roots"),
        (
            Command(command_id="c", program="p"),
            "command_id program args cwd env stdin timeout_ms max_output_bytes cpu_ms memory_bytes terminal on_restart "
            "open_stdin",
        ),
        (CommandResult(command_id="c"), "command_id exit_code stdout stderr status dropped_bytes warnings approvals"),
        (Port(port=1), "port label"),
        (PortPreview(port=1), "port url"),
        (ArtifactRequest(path="p"), "path recursive"),
        (Artifact(path="p", artifact_id="a"), "path artifact_id url metadata"),
    ],
)
def test_shapes_have_the_contracts_fields_first_and_ours_last(value: msgspec.Struct, fields: str) -> None:
    assert list(msgspec.to_builtins(value)) == fields.split()


def test_environment_pairs_are_arrays_of_two() -> None:
    made = decode(b'{"command_id":"c","program":"p","env":[["A","1"],["A","2"]]}', Command)
    assert made.env == [("A", "1"), ("A", "2")]
