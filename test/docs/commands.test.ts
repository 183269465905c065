// Only in test:all: thirty pages are typed, 60 s of a processor.
/** Every command block of the other pages, typed. `SEALIFT_PAGES=docs/agent.md` chooses pages. */
import t from "tap";
import { chosenPages, FIRST_HOUR, typePages } from "../support/docs/typed-pages.ts";

// Programs start more slowly on a busy machine than one test file is given.
t.setTimeout(900_000);
typePages(chosenPages().filter((page) => !FIRST_HOUR.includes(page)));
