import unittest, io

def add(a, b): return a + b

class TestAdd(unittest.TestCase):
    def setUp(self): self.base = 10
    def test_ints(self): self.assertEqual(add(self.base, 2), 12)
    def test_strings(self): self.assertEqual(add("a", "b"), "ab")
    def test_raises(self):
        with self.assertRaises(TypeError):
            add(1, "b")
    def test_wrong(self): self.assertAlmostEqual(add(0.1, 0.2), 0.4)
    @unittest.skip("later")
    def test_later(self): pass

suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd)
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
print(result.testsRun, len(result.failures), len(result.errors), len(result.skipped), result.wasSuccessful())
