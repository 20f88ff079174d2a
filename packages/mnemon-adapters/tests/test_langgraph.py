"""A LangGraph store on a real service, in namespaces of its own."""

import asyncio
import unittest
import uuid

from mnemon_adapters.langgraph import MnemonStore


class LangGraphStore(unittest.TestCase):
    def setUp(self) -> None:
        self.store = MnemonStore()
        self.root = f"t{uuid.uuid4().hex[:8]}"
        self.people = (self.root, "users", "ada")

    def test_what_is_put_is_got_until_it_is_deleted(self) -> None:
        value = {"text": "Ada drinks tea with milk.", "cups": 3}
        self.assertIsNone(self.store.get(self.people, "drink"))
        self.store.put(self.people, "drink", value)
        item = self.store.get(self.people, "drink")
        self.assertEqual((item.value, item.key, item.namespace), (value, "drink", self.people))
        self.store.delete(self.people, "drink")
        self.assertIsNone(self.store.get(self.people, "drink"))

    def test_a_second_put_replaces_the_first(self) -> None:
        for city in ["Oslo", "Bergen", "Bergen"]:
            self.store.put(self.people, "home", {"city": city})
        self.assertEqual(self.store.get(self.people, "home").value, {"city": "Bergen"})
        self.assertEqual(len(self.store.search(self.people)), 1)

    def test_changes_of_white_space_and_quotes_are_kept(self) -> None:
        for text in ["two  words", "two words", "two words."]:
            self.store.put(self.people, "note", {"text": text})
            self.assertEqual(self.store.get(self.people, "note").value, {"text": text})

    def test_the_same_value_under_two_keys_is_two_items(self) -> None:
        for key in ["first", "second"]:
            self.store.put(self.people, key, {"colour": "green"})
        self.assertEqual({item.key for item in self.store.search(self.people)}, {"first", "second"})
        self.store.delete(self.people, "first")
        self.assertEqual(self.store.get(self.people, "second").value, {"colour": "green"})

    def test_search_goes_by_meaning_through_all_namespaces_below_a_prefix(self) -> None:
        self.store.put(self.people, "drink", {"text": "Ada drinks tea with milk."})
        self.store.put((self.root, "users", "ben"), "job", {"text": "Ben repairs bicycles in the harbour."})
        self.store.put((self.root, "teams"), "tea", {"text": "The tea kitchen is on the second floor."})
        hits = self.store.search((self.root, "users"), query="what does Ada drink?")
        self.assertEqual((hits[0].key, hits[0].namespace), ("drink", self.people))
        self.assertGreater(hits[0].score, 0.3)
        self.assertNotIn("tea", [hit.key for hit in hits])

    def test_search_filters_by_values_and_pages(self) -> None:
        for number in range(7):
            self.store.put(self.people, f"n{number}", {"number": number, "parity": number % 2})
        odd = self.store.search(self.people, filter={"parity": 1, "number": {"$gte": 3}})
        self.assertEqual({item.key for item in odd}, {"n3", "n5"})
        pages = [self.store.search(self.people, limit=3, offset=offset) for offset in (0, 3, 6)]
        self.assertEqual([len(page) for page in pages], [3, 3, 1])
        self.assertEqual(len({item.key for page in pages for item in page}), 7)

    def test_more_than_a_page_of_items_is_listed(self) -> None:
        for number in range(101):
            self.store.put(self.people, f"k{number}", {"number": number})
        self.assertEqual(len(self.store.search(self.people, limit=200)), 101)

    def test_namespaces_are_listed(self) -> None:
        for namespace in [self.people, (self.root, "users", "a/b"), (self.root, "teams")]:
            self.store.put(namespace, "k", {"x": 1})
        listed = self.store.list_namespaces(prefix=(self.root,))
        self.assertEqual(listed, sorted([self.people, (self.root, "users", "a/b"), (self.root, "teams")]))
        self.assertEqual(self.store.list_namespaces(prefix=(self.root,), max_depth=2), [(self.root, "teams"), (self.root, "users")])
        self.assertEqual(self.store.list_namespaces(prefix=(self.root,), suffix=("ada",)), [self.people])

    def test_limits_are_said_with_their_numbers(self) -> None:
        self.store.put(self.people, "k" * 128, {"x": 1})
        with self.assertRaisesRegex(ValueError, "129 characters long; the limit is 128"):
            self.store.put(self.people, "k" * 129, {"x": 1})
        with self.assertRaisesRegex(ValueError, "the limit is 64"):
            self.store.put(("n" * 65,), "k", {"x": 1})

    def test_it_works_without_blocking_an_event_loop(self) -> None:
        async def story() -> object:
            await self.store.aput(self.people, "drink", {"text": "tea"})
            return await self.store.aget(self.people, "drink")

        self.assertEqual(asyncio.run(story()).value, {"text": "tea"})


if __name__ == "__main__":
    unittest.main()
