"""What the sandbox does not have: network, processes of its own. Programs that ask for them are told what there is instead."""

import enum
import errno
import hashlib
import hmac
import lzma
import os
import posix
import socket
import sys
import types
import urllib.error
import urllib.request

NETWORK = "the sandbox has no network; what is outside is reached through capabilities (tools.…)"
PROCESSES = 'the sandbox has no processes; shell programs run in the same session with language="shell"'


def no_network(*args, **kwargs):
    raise OSError(NETWORK)


def no_processes(*args, **kwargs):
    raise OSError(errno.ENOTSUP, PROCESSES)


def no_pipes(*args, **kwargs):
    raise OSError(
        errno.ENOTSUP,
        "there are no pipes here: give a command its input with subprocess.run(…, input=…), else use io.BytesIO or a file",
    )


def make_ssl():
    """`ssl`, for packages that import it: its names are there, and nothing can be connected with them."""
    module = types.ModuleType("ssl", f"A stand-in: {NETWORK}.")

    class SSLContext:
        """Holds settings; wraps nothing."""

        def __init__(self, protocol=None):
            self.protocol, self.check_hostname, self.verify_mode = protocol, True, module.CERT_REQUIRED
            self.options, self.minimum_version, self.maximum_version = 0, None, None

        def load_default_certs(self, *args, **kwargs):
            pass

        load_verify_locations = load_cert_chain = set_ciphers = set_alpn_protocols = set_default_verify_paths = load_default_certs
        wrap_socket = wrap_bio = no_network

    def create_default_context(*args, **kwargs):
        return SSLContext()

    errors = {name: type(name, (OSError,), {"__module__": "ssl"}) for name in ("SSLError",)}
    for name in (
        "SSLZeroReturnError",
        "SSLWantReadError",
        "SSLWantWriteError",
        "SSLSyscallError",
        "SSLEOFError",
        "CertificateError",
    ):
        errors[name] = type(name, (errors["SSLError"],), {"__module__": "ssl"})
    errors["SSLCertVerificationError"] = errors["CertificateError"]
    numbers = ("CERT_NONE", "CERT_OPTIONAL", "CERT_REQUIRED", "PROTOCOL_TLS", "PROTOCOL_TLS_CLIENT", "PROTOCOL_TLS_SERVER")
    vars(module).update(
        errors,
        **{name: number for number, name in enumerate(numbers)},
        **dict.fromkeys(("OP_ALL", "OP_NO_SSLv2", "OP_NO_SSLv3", "OP_NO_COMPRESSION", "OP_NO_TICKET"), 0),
        **dict.fromkeys(("HAS_SNI", "HAS_ALPN", "HAS_NPN", "HAS_TLSv1_3", "HAS_NEVER_CHECK_COMMON_NAME"), False),
        SSLContext=SSLContext,
        SSLSocket=type("SSLSocket", (socket.socket,), {}),
        SSLObject=type("SSLObject", (), {}),
        TLSVersion=enum.IntEnum("TLSVersion", {"TLSv1_2": 771, "TLSv1_3": 772}),
        OPENSSL_VERSION="no TLS in this sandbox",
        OPENSSL_VERSION_INFO=(0, 0, 0, 0, 0),
        OPENSSL_VERSION_NUMBER=0,
        create_default_context=create_default_context,
        _create_unverified_context=create_default_context,
        _create_default_https_context=create_default_context,
        get_default_verify_paths=no_network,
        get_server_certificate=no_network,
    )
    return module


def leave(status):
    """`os._exit`: a program that leaves its interpreter ends, and the interpreter stays for the next one."""
    raise SystemExit(status)


def open_unknown(self, request):
    """Without TLS nothing opens https addresses, and the library calls them unknown."""
    raise urllib.error.URLError(NETWORK if request.type in ("https", "ftp") else f"unknown url type: {request.type}")


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """RFC 8018, as `hashlib` has it where OpenSSL is."""
    keyed = hmac.new(bytes(password), None, hash_name)
    length = keyed.digest_size if dklen is None else dklen
    if iterations < 1 or length < 1:
        raise ValueError("iterations and dklen must be at least 1")
    derived = b""
    for block in range(1, -(-length // keyed.digest_size) + 1):
        step = bytes(salt) + block.to_bytes(4, "big")
        mixed = 0
        for _ in range(iterations):
            turn = keyed.copy()
            turn.update(step)
            step = turn.digest()
            mixed ^= int.from_bytes(step, "big")
        derived += mixed.to_bytes(keyed.digest_size, "big")
    return derived[:length]


def make_compressor(format=lzma.FORMAT_XZ, check=-1, preset=None, filters=None):
    """`LZMACompressor`, without a preset with a dictionary of a megabyte: the usual one takes 94 MB of memory."""
    if preset is None and filters is None:
        kind = lzma.FILTER_LZMA1 if format == lzma.FORMAT_ALONE else lzma.FILTER_LZMA2
        filters = [{"id": kind, "preset": lzma.PRESET_DEFAULT, "dict_size": 1 << 20}]
    return make_lzma_compressor(format, check, preset, filters)


make_lzma_compressor = lzma.LZMACompressor


def install():
    lzma.LZMACompressor = make_compressor
    socket.getaddrinfo = socket.gethostbyname = socket.socket.__init__ = no_network
    urllib.request.UnknownHandler.unknown_open = open_unknown
    os._exit = posix._exit = leave
    os.pipe = no_pipes
    sys.executable = "/usr/bin/python3"
    sys.modules["ssl"] = make_ssl()
    hashlib.pbkdf2_hmac = pbkdf2_hmac
