// Only in test:all: each page of the first hour is typed, 55 s of a processor.
/** The pages of a reader's first hour, typed; where root types, an ordinary user types them. */
import t from "tap";
import { chosenPages, FIRST_HOUR, typePages } from "../support/docs/typed-pages.ts";

// Programs start more slowly on a busy machine than one test file is given.
t.setTimeout(900_000);
// The README's commands are for root, too, who types them with the other pages.
const pages = chosenPages().filter((page) => page === "README.md" || FIRST_HOUR.includes(page));
typePages(pages, { asOrdinaryUser: true });
