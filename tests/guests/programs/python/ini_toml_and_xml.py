import configparser, tomllib, io
import xml.etree.ElementTree as ET
ini = configparser.ConfigParser()
ini.read_string("[DEFAULT]\ntimeout = 30\n[server]\nhost = localhost\nport = 8080\ndebug = yes\n")
print(ini["server"]["host"], ini.getint("server", "port"), ini.getboolean("server", "debug"), ini["server"]["timeout"])
doc = tomllib.loads('title = "x"\n[owner]\ndob = 1979-05-27T07:32:00Z\n[[items]]\nname = "a"\n[[items]]\nname = "b"\n')
print(doc["owner"]["dob"].year, [i["name"] for i in doc["items"]])
root = ET.fromstring("<lib><book id='1'><title>A</title><price>9.5</price></book><book id='2'><title>B</title><price>3</price></book></lib>")
for book in root.findall("book"):
    print(book.get("id"), book.findtext("title"), float(book.findtext("price")))
ET.SubElement(root, "book", id="3").text = "C & D"
ET.indent(root)
print(ET.tostring(root, encoding="unicode"))
