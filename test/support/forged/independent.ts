/** Public test data that shares none of our code. */
import { readFileSync } from "node:fs";

/** A JSON file of `test/vectors/`. */
export const vectors = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../../vectors/${path}`, import.meta.url), "utf8")) as T;
