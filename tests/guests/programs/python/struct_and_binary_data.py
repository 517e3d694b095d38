import struct, array, io
packed = struct.pack("<IhB4sf", 1, -2, 255, b"ab", 1.5)
print(packed.hex(), struct.calcsize("<IhB4sf"), struct.unpack("<IhB4sf", packed))
a = array.array("i", [1, 2, 3]); a.append(4)
print(a, a.itemsize, sum(a))
mv = memoryview(bytearray(b"hello")); mv[0] = ord("J"); print(bytes(mv), mv[1:3].tobytes())
bmp = io.BytesIO()
bmp.write(b"BM"); bmp.write(struct.pack("<I", 54)); bmp.seek(2)
print(struct.unpack("<I", bmp.read(4)), bytes.fromhex("deadbeef").hex(":"), bytes([1, 2]) + b"\x03")
