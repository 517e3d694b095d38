from PIL import Image, ImageDraw, ImageFilter
im = Image.new("RGB", (40, 20), "white")
d = ImageDraw.Draw(im)
d.rectangle([5, 5, 15, 15], fill=(255, 0, 0)); d.line([0, 0, 39, 19], fill="blue"); d.ellipse([20, 4, 32, 16], outline=(0, 128, 0))
print(im.size, im.getpixel((10, 12)), im.getpixel((0, 0)), im.convert("L").getpixel((10, 12)))
small = im.resize((10, 5)).rotate(90, expand=True)
print(small.size, im.crop((5, 5, 8, 8)).getbbox(), sorted(im.getcolors(), reverse=True)[0])
im.save("x.png"); print(Image.open("x.png").format, Image.open("x.png").mode)
print(im.filter(ImageFilter.BLUR).size, im.transpose(Image.Transpose.FLIP_LEFT_RIGHT).getpixel((29, 10)))
