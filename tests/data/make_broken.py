#!/usr/bin/env python3
"""Writes the corpus of broken data files to tests/data/broken, with index.tsv: file, reader, part of the message.

usage: make_broken.py
"""

import functools
import gzip
import io
import pathlib
import struct
import zipfile
import zlib

FOLDER = pathlib.Path(__file__).parent / "broken"
CASES = []


def add(name, reader, content, *parts):
    """A broken file, and what its message must have."""
    content = content.encode() if isinstance(content, str) else content
    (FOLDER / name).write_bytes(content)
    CASES.append((name, reader, *parts))


def packed(content):
    return gzip.compress(content.encode() if isinstance(content, str) else content, mtime=0)


def npy(header, body=b"", version=b"\x01\x00", length=None):
    header = header.encode()
    size = len(header) if length is None else length
    return b"\x93NUMPY" + version + struct.pack("<H", size) + header + body


def npy_of(descr, shape, body, order="False"):
    return npy(f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n", body)


def idx(kind, shape, body=b"", magic=b"\0\0"):
    return magic + bytes([kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + body


def csv_cases():
    add("empty.csv", "csv", "", "the file is empty")
    add("blank_lines.csv", "csv", "\n\n  \n\r\n", "the file is empty")
    add("header_only.csv", "csv y", "a,y\n", "there is a header, but no row")
    add("short_row.csv", "csv y", "a,b,y\n1,2,0\n3,1\n4,5,1\n", "line 3", "it has 2 cells, but 3")
    add("long_row.csv", "csv y", "a,b,y\n1,2,0\n3,1,5,6\n4,5,1\n", "line 3", "it has 4 cells, but 3")
    add("text_among_numbers.csv", "csv y", "a,b,y\n1,2,0\n3,x,1\n4,5,1\n", "line 3, column b is \"x\"", "a number")
    add("seed_mixed.csv", "csv", "1,2,a\n4,5,6\n", "line 1, column 2 is \"a\"", "a number was expected")
    add("inf.csv", "csv y", "a,y\n1,0\n-inf,1\n", "line 3, column a is \"-inf\"", "a finite number")
    add("too_large.csv", "csv y", "a,y\n1,0\n1e400,1\n", "column a is \"1e400\"", "a finite number")
    add("too_large_for_float32.csv", "csv y as_is", "a,y\n1,0\n1e39,1\n", "\"1e39\"", "float32")
    add("label_missing.csv", "csv y", "a,y\n1,0\n2,?\n", "line 3, column y is \"?\"", "a value was expected")
    add("label_absent.csv", "csv income", "a,incom\n1,0\n", "there is no column \"income\"", "did you mean \"incom\"")
    add("all_missing.csv", "csv y", "a,y\n?,0\nNA,1\n", "no column is left")
    add("open_quote.csv", "csv y", 'a,y\n1,0\n2,"1\n3,0\n', "line 3", "its last quote is never closed")
    add("open_quote_huge.csv.gz", "csv y", packed('a,y\n1,"' + "x" * (1 << 21)), "line 2", "more than 1048576 bytes")
    add("one_endless_line.csv.gz", "csv", packed("x" * (1 << 21)), "line 1", "more than 1048576 bytes")
    add("not_utf8.csv", "csv y", b"a,w,y\n1,caf\xe9,0\n2,tea,1\n", "column w is \"caf\\xe9\"", "UTF-8")
    add("header_not_utf8.csv", "csv", b"caf\xe9,y\n1,0\n", "which is no UTF-8")
    add("utf16.csv", "csv", "\ufeffa,y\n1,0\n".encode("utf-16-le"), "UTF-16")
    add("utf16_big.csv", "csv", b"\xfe\xff\x00a\x00,\x00y", "UTF-16")
    add("utf16_no_mark.csv", "csv", "a,y\n1,0\n".encode("utf-16-le"), "UTF-16")
    add("utf32.csv", "csv", "\ufeffa,y\n1,0\n".encode("utf-32-le"), "UTF-32")
    add("array.csv.gz", "csv", packed(npy_of("<f4", "(2,)", b"\0" * 8)), "an array of NumPy")
    add("near_infinity.csv", "csv y", "a,y\n1,0\n2,1\n1e308,1\n4,0\n", "line 4, column a is \"1e308\"")
    add("hidden_blank.csv", "csv y", "a,y\n1,0\n2\u00a0,1\n3,1\n", "line 3, column a is \"2\\xc2\\xa0\"", "a number")
    add("many_columns.csv.gz", "csv", packed(",".join(f"c{i}" for i in range(70000)) + "\n"), "70000 columns", ".npy")
    add("binary.csv", "csv", b"PK\x03\x04\0\0\0\0\x12\x34", "it is no text with columns, but a zip file")
    add("zeros.csv", "csv", b"a,b\n1,\0\0\n", "is 0, so it is no text")
    add("web_page.csv", "csv", "<!DOCTYPE html>\n<html><title>404</title></html>\n", "it is no text with columns, but a web page")
    add("json.csv", "csv", '[{"a": 1, "y": 0}]\n', "it is no text with columns, but JSON")
    add("png.csv", "csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is 0, so it is no text")
    add("twice.csv", "csv y header", "a,a,y\n1,2,0\n", "two columns are called \"a\"")
    add("cut.csv.gz", "csv y", packed("a,y\n" + "1,0\n2,1\n" * 5000)[:60], "is cut off")
    add("damaged.csv.gz", "csv y", packed("a,y\n1,0\n2,1\n")[:10] + b"\xff" * 20, "is damaged")
    add("bad_checksum.csv.gz", "csv y", packed("a,y\n1,0\n")[:-8] + b"\0" * 8, "is damaged")
    add("gzip_magic_only.csv.gz", "csv", b"\x1f\x8b", "is cut off")
    add("label_many_texts.csv.gz", "csv y", packed("a,y\n" + "".join(f"1,t{i}\n" for i in range(5000))),
        "more than 4096 different texts", "is it the right label?")
    add("only_identifiers.csv", "csv y", "id,y\n" + "".join(f"a{i},{i % 2}\n" for i in range(600)), "no column is left")
    add("thousands.csv", "csv y", 'a,y\n1,0\n"1,234",1\n5,0\n', "column a is \"1,234\"", "a number was expected")
    add("percent.csv", "csv y", "a,y\n1,0\n5%,1\n7,1\n", "column a is \"5%\"", "a number was expected")
    add("decimal_comma.csv", "csv y", "a;y\n1;0\n1,5;1\n7;1\n", "column a is \"1,5\"", "a number was expected")
    add("negative_weight.csv", "csv y weight=w", "a,w,y\n1,1,0\n2,-1,1\n", "column w is \"-1\"", "0 or more")
    add("weight_absent.csv", "csv y weight=w", "a,y\n1,0\n", "there is no column \"w\" for sample_weight")


def npy_cases():
    body = struct.pack("<4f", 1, 2, 3, 4)
    add("empty.npy", "npy", b"", "it is empty")
    add("magic_only.npy", "npy", b"\x93NUMPY", "bytes")
    add("packed.npy", "npy", packed(npy_of("<f4", "(2, 2)", body)), "packed by gzip")
    add("zip.npy", "npy", zip_of(("x.npy", npy_of("<f4", "(2, 2)", body))), "but a zip file")
    add("wrong_magic.npy", "npy", b"\x93NUMPX\x01\x00\x10\x00" + b" " * 20, "no .npy file")
    add("text.npy", "npy", "1,2\n3,4\n1,2\n3,4\n", "no .npy file")
    add("version_9.npy", "npy", npy("{}\n", version=b"\x09\x00"), "version")
    add("header_cut.npy", "npy", npy("{'descr': '<f4'", length=200), "cut off in its header")
    add("header_no_dict.npy", "npy", npy("hello\n"), "header")
    add("no_shape.npy", "npy", npy("{'descr': '<f4', 'fortran_order': False, }\n"), "shape")
    add("no_descr.npy", "npy", npy("{'fortran_order': False, 'shape': (2, 2), }\n"), "descr")
    add("objects.npy", "npy", npy_of("|O", "(2,)", b"\0" * 16), "|O")
    add("strings.npy", "npy", npy_of("<U3", "(2,)", b"\0" * 24), "<U3")
    add("complex.npy", "npy", npy_of("<c8", "(2,)", b"\0" * 16), "<c8")
    add("fortran.npy", "npy", npy_of("<f4", "(2, 2)", body, order="True"), "ortran")
    add("cut.npy", "npy", npy_of("<f4", "(2, 2)", body[:-3]), "it is cut off", "ends in row 1")
    add("too_long.npy", "npy", npy_of("<f4", "(2, 2)", body + b"\0" * 4), "4 bytes follow the last row")
    add("huge_shape.npy", "npy", npy_of("<f4", "(9223372036854775807, 9223372036854775807)", body), "shape")
    add("huge_rows.npy", "npy", npy_of("<f4", "(1000000000000, 2)", body), "cut off")
    add("negative.npy", "npy", npy_of("<f4", "(-1, 2)", body), "shape")
    add("scalar.npy", "npy", npy_of("<f4", "()", body[:4]), "a single number")
    add("no_elements.npy", "npy", npy_of("<f4", "(2, 0)", b""), "no elements")
    add("nan.npy", "npy", npy_of("<f4", "(2, 2)", struct.pack("<4f", 1, 2, float("nan"), 4)), "row 1, column 0 is nan", "a finite number")
    add("inf.npy", "npy", npy_of("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, float("inf"))), "row 1, column 1 is inf")
    add("too_large.npy", "npy", npy_of("<f8", "(2,)", struct.pack("<2d", 1, 1e300)), "row 1 is 1e+300", "float32")
    add("label_half.npy", "npy int", npy_of("<f4", "(2,)", struct.pack("<2f", 1, 1.5)), "row 1 is 1.5", "a whole number")
    add("label_huge.npy", "npy int", npy_of("<i8", "(2,)", struct.pack("<2q", 1, 1 << 40)), "row 1 is 1099511627776", "int32")


def zip_of(*members):
    """Stored, always with the same time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def npz_cases():
    x = npy_of("<f4", "(2, 2)", struct.pack("<4f", 1, 2, 3, 4))
    good = zip_of(("x.npy", x))
    add("no_arrays.npz", "npz", zip_of(), "it has no arrays")
    add("no_zip.npz", "npz", x, "it is no .npz file")
    add("cut.npz", "npz", good[:-10], "it is no .npz file, or is cut off")
    add("checksum.npz", "npz", good.replace(struct.pack("<2f", 3, 4), struct.pack("<2f", 3, 5)), "wrong checksum")
    add("no_array.npz", "npz", zip_of(("x.npy", b"hello, I am a text")), "no .npy file")
    add("short_member.npz", "npz", zip_of(("x.npy", x[:-4])), "2 rows", "the member has")


CRC_TABLE = [functools.reduce(lambda c, _: c >> 1 ^ (0x82F63B78 if c & 1 else 0), range(8), i) for i in range(256)]


def masked_crc(content):
    crc = functools.reduce(lambda c, byte: c >> 8 ^ CRC_TABLE[(c ^ byte) & 255], content, 0xFFFFFFFF) ^ 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


def record(content, length=None, crc=None):
    head = struct.pack("<Q", len(content) if length is None else length)
    return head + masked_crc(head) + content + (crc or masked_crc(content))


def message(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


def feature(key, kind, content):
    return message(1, message(1, key) + message(2, message(kind, message(1, content))))


def tfrecord_cases():
    good = record(message(1, feature(b"x", 2, struct.pack("<2f", 1, 2))))
    three = record(message(1, feature(b"x", 2, struct.pack("<3f", 1, 2, 3))))
    add("empty.tfrecord", "tfrecord", b"", "it has no records")
    add("cut.tfrecord", "tfrecord", good + good[:-2], "record 1 at byte 37", "is cut off")
    add("checksum.tfrecord", "tfrecord", good + record(b"abc", crc=b"1234"), "record 1", "wrong checksum")
    add("huge_length.tfrecord", "tfrecord", good + record(b"", length=1 << 62), "record 1", "more than the")
    add("no_feature.tfrecord", "tfrecord", good + record(message(1, feature(b"z", 2, b"\0" * 8))), "no feature \"x\", but \"z\"")
    add("other_list.tfrecord", "tfrecord", record(message(1, feature(b"x", 3, b"\1\2"))), "holds an int64_list")
    add("longer.tfrecord", "tfrecord", good + three, "record 1", "3 elements, but 2", "longest: 3")
    add("no_example.tfrecord", "tfrecord", record(b"no example"), "no tf.train.Example")


def idx_cases():
    add("empty.idx", "idx", b"", "only 0 bytes")
    add("short.idx", "idx", b"\0\0\x08", "only 3 bytes")
    add("wrong_magic.idx", "idx", b"ab\x08\x01\0\0\0\1x", "begins with the bytes 61 62")
    add("wrong_type.idx", "idx", idx(0x42, [2], b"ab"), "element type 42")
    add("no_axes.idx", "idx", b"\0\0\x08\0", "claims 0 axes")
    add("many_axes.idx", "idx", b"\0\0\x08\xff" + b"\0" * 40, "claims 255 axes")
    add("header_cut.idx", "idx", b"\0\0\x08\x03\0\0\0\1", "cut off in its header")
    add("cut.idx", "idx", idx(8, [2, 2], b"abc"), "it is cut off", "ends in row 1")
    add("too_long.idx", "idx", idx(8, [2, 2], b"abcde"), "1 bytes follow the last row")
    add("huge_shape.idx", "idx", idx(8, [0xffffffff] * 3), "more than any file holds")
    add("bomb.idx.gz", "idx", packed(idx(8, [1 << 26], b"\0" * (1 << 20))), "when inflated")
    add("cut.idx.gz", "idx", packed(idx(8, [4], b"abc")), "it is cut off")
    add("too_long.idx.gz", "idx", packed(idx(8, [4], b"abcde")), "more follows")
    add("damaged.idx.gz", "idx", packed(idx(8, [4], b"abcd"))[:-8] + b"\1" * 8, "is damaged")
    add("nan.idx", "idx", idx(0x0d, [2], struct.pack(">2f", 1, float("nan"))), "row 1 is nan")


def png_chunk(kind, body=b""):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, body, bits=8, kind=2, interlace=0, chunks=b""):
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlace)
    data = png_chunk(b"IDAT", body)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + chunks + data + png_chunk(b"IEND")


def jpeg_segment(marker, body):
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def jpeg_frame(marker, width, height, components=3, bits=8, factors=0x11):
    body = struct.pack(">BHHB", bits, height, width, components)
    return jpeg_segment(marker, body + b"".join(bytes([i + 1, factors, 0]) for i in range(components)))


def jpeg(*segments):
    return b"\xff\xd8" + b"".join(segments)


def jpeg_scan(components=3):
    return jpeg_segment(0xDA, bytes([components]) + b"".join(bytes([i + 1, 0]) for i in range(components)) + b"\0\x3f\0")


def image_cases():
    rows = zlib.compress((b"\0" + b"\1\2\3" * 4) * 4)
    add("empty.png", "image", b"", "it is empty")
    add("text.png", "image", "hello, world", "it is no picture", "68 65")
    add("gif.png", "image", b"GIF89a\1\0\1\0", "it is a GIF file", "convert it")
    add("bmp.jpg", "image", b"BM" + b"\0" * 60, "it is a BMP file")
    add("webp.jpg", "image", b"RIFF\0\0\0\0WEBPVP8 ", "it is a WebP file")
    add("tiff.jpg", "image", b"II*\0\x08\0\0\0", "it is a TIFF file")
    add("magic_only.png", "image", b"\x89PNG\r\n\x1a\n", "cut off in its header, after 8 bytes")
    add("no_header.png", "image", b"\x89PNG\r\n\x1a\n" + png_chunk(b"IDAT", rows) + b"\0" * 20, "no IHDR chunk")
    add("no_pixels.png", "image", png(0, 4, rows), "it claims 0 x 4 pixels")
    add("bomb.png", "image", png(60000, 60000, rows), "60000 x 60000 pixels", "raise most_pixels")
    add("huge.png", "image", png(0x7FFFFFFF, 0x7FFFFFFF, rows), "2147483647 x 2147483647", "are allowed")
    add("interlaced_bomb.png", "image", png(11000, 11000, rows, interlace=1), "to decode its 11000 x 11000 pixels takes")
    add("cut.png", "image", png(4, 4, rows)[:50], "it is cut off in row 0 of 4")
    add("few_rows.png", "image", png(4, 40, rows), "in row 4 of 40")
    add("bad_checksum.png", "image", png(4, 4, rows)[:-20] + b"\0\0\0\0" + png_chunk(b"IEND"), "it is damaged in row")
    add("no_zlib.png", "image", png(4, 4, b"\xff" * 30), "it is damaged in row 0 of 4")
    add("no_palette.png", "image", png(4, 4, rows, kind=3), "it is damaged", "PLTE")
    add("bad_depth.png", "image", png(4, 4, rows, bits=7), "it is damaged", "IHDR")
    add("text_bomb.png", "image", png(4, 40, rows, chunks=png_chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * (1 << 22)))), "in row 4 of 40")
    add("magic_only.jpg", "image", b"\xff\xd8", "cut off in its header")
    add("ends_at_once.jpg", "image", jpeg(b"\xff\xd9"), "it ends before its picture begins")
    add("no_marker.jpg", "image", jpeg(b"abcdef"), "no marker stands at byte 2")
    add("short_segment.jpg", "image", jpeg(b"\xff\xe0\0\1"), "it is damaged at byte 2")
    add("no_frame.jpg", "image", jpeg(jpeg_scan()), "its picture has no size")
    add("bomb.jpg", "image", jpeg(jpeg_frame(0xC0, 65500, 65500), jpeg_scan()), "65500 x 65500 pixels", "raise most_pixels")
    add("progressive_bomb.jpg", "image", jpeg(jpeg_frame(0xC2, 11000, 11000), jpeg_scan()), "to decode its 11000 x 11000 pixels takes")
    add("no_height.jpg", "image", jpeg(jpeg_frame(0xC0, 16, 0), jpeg_scan()), "it claims 16 x 0 pixels")
    add("twelve_bits.jpg", "image", jpeg(jpeg_frame(0xC1, 16, 16, bits=12), jpeg_scan()), "12 bits a sample")
    add("lossless.jpg", "image", jpeg(jpeg_frame(0xC3, 16, 16), jpeg_scan()), "(SOF3)")
    add("arithmetic.jpg", "image", jpeg(jpeg_frame(0xC9, 16, 16), jpeg_scan()), "(SOF9)")
    add("nine_components.jpg", "image", jpeg(jpeg_frame(0xC0, 16, 16, components=9), jpeg_scan()), "its components")
    add("factors.jpg", "image", jpeg(jpeg_frame(0xC0, 16, 16, factors=0x51), jpeg_scan()), "its sampling factors")
    add("no_tables.jpg", "image", jpeg(jpeg_frame(0xC0, 16, 16), jpeg_scan(), b"\0" * 40), "it is damaged in row 0 of 16", "table")


def hdf5_file(*messages):
    """A file of the newer kind with the array x, which these messages describe: pairs of type and bytes."""

    def header(parts):
        body = b"".join(struct.pack("<BHB", kind, len(data), 0) + data for kind, data in parts)
        return b"OHDR\2\2" + struct.pack("<I", len(body)) + body + b"\0" * 4

    array = header(messages)
    root = header([(6, b"\1\1" + struct.pack("<H", 1) + b"x" + struct.pack("<Q", 48))])
    end = 48 + len(array) + len(root)
    head = b"\x89HDF\r\n\x1a\n\2\x08\x08\0" + struct.pack("<QqQQ", 0, -1, end, 48 + len(array)) + b"\0" * 4
    return head + array + root


def hdf5_made_cases():
    """What no library writes."""

    def space(*shape):
        return (1, bytes([2, len(shape), 0, 1]) + struct.pack(f"<{len(shape)}Q", *shape))

    def compact(data):
        return (8, b"\3\0" + struct.pack("<H", len(data)) + data)

    def contiguous(offset, count):
        return (8, b"\3\1" + struct.pack("<QQ", offset, count))

    float32 = (3, struct.pack("<IIHHBBBBI", 0x1F2011, 4, 0, 32, 23, 8, 0, 23, 127))
    int8 = struct.pack("<IIHH", 0x0810, 1, 0, 8)
    enumeration = struct.pack("<II", 0x18, 1)
    add("two_places.h5", "hdf5 x", hdf5_file(space(8, 4), float32, compact(b"\0" * 16), contiguous(0, 128)), "two places")
    add("enum_of_enum.h5", "hdf5 x", hdf5_file(space(4), (3, 2 * enumeration + int8), contiguous(0, 4)), "holds no numbers")


def hdf5_cases():
    """Changes of one small file that h5py wrote (make_hdf5.py)."""
    good = (FOLDER.parent / "hdf5" / "small.h5").read_bytes()
    chunk = good.find(b"\x78\x5e") if b"\x78\x5e" in good else good.find(b"\x78\x9c")

    def changed(at, new):
        return good[:at] + new + good[at + len(new) :]

    add("empty.h5", "hdf5 x", b"", "it is no HDF5 file")
    add("text.h5", "hdf5 x", "hello, world, this is a text and no file of arrays", "it is no HDF5 file")
    add("magic_only.h5", "hdf5 x", good[:8], "it is no HDF5 file")
    add("superblock_9.h5", "hdf5 x", changed(8, b"\x09"), "superblock 9")
    add("short_addresses.h5", "hdf5 x", changed(13, b"\x04"), "8-byte addresses")
    add("cut.h5", "hdf5 x", good[:-100], "it is cut off", f"{len(good) - 100} bytes are there of {len(good)}")
    add("no_root.h5", "hdf5 x", changed(64, b"\xff" * 8), "outside the file")
    add("no_tree.h5", "hdf5 x", good.replace(b"TREE", b"TREX"), "should begin with TREE")
    add("no_names.h5", "hdf5 x", good.replace(b"HEAP", b"HEAX"), "should begin with HEAP")
    add("damaged_chunk.h5", "hdf5 x", changed(chunk + 6, b"\xff\xff\xff"), "the chunk at byte", "damaged")
    add("chunk_checksum.h5", "hdf5 x", changed(good.find(b"SNOD") and chunk + 1, bytes([good[chunk + 1] ^ 1])), "wrong checksum")
    add("no_such_array.h5", "hdf5 gone", good, 'there is no array "gone"', "x float32[16, 8]")
    add("strings.h5", "hdf5 texts", good, "holds no numbers", "float32")
    add("nan.h5", "hdf5 nan", good, "row 1 is nan", "a finite number")
    add("other_rows.h5", "hdf5 x y", good, "the same number of rows", "has 16", "has 15")


def main():
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    csv_cases()
    npy_cases()
    npz_cases()
    tfrecord_cases()
    idx_cases()
    image_cases()
    hdf5_cases()
    hdf5_made_cases()
    lines = ["\t".join(case) for case in CASES]
    (FOLDER / "index.tsv").write_text("\n".join(lines) + "\n")
    print(len(CASES), "files")


if __name__ == "__main__":
    main()
