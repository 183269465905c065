import * as z from "zod";
import { later } from "./later.ts";

/** Returns a text in its composed form, without blanks around it, and with one space for each run of blanks. */
const tidied = (text: string): string =>
  text
    .normalize("NFC")
    .trim()
    .replaceAll(/[\p{Z}\s]+/gu, " ");

/**
 * Name of a person, as sign-on names the person's keys, such as `anna by https://id.example.org`. Characters that
 * nobody sees are refused, and blanks are tidied.
 */
export const personName = later(() =>
  z
    .string()
    .max(511)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Co}]*$/u, "must have no invisible characters")
    .transform(tidied)
    .pipe(z.string().min(1)),
);

/**
 * Returns the form in which two names of persons are compared before one approves what the other has made: what people
 * take for the same name is the same. Names in the form of {@link personName} and older ones have it, too.
 */
export const samePersonForm = (name: string): string =>
  tidied(name.normalize("NFKC").replaceAll(/[\p{Cc}\p{Cf}]/gu, "")).toLowerCase();
