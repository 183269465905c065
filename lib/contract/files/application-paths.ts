import { pathBelow } from "../identifiers.ts";
import { later } from "../later.ts";
import { APPLICATION_FILE, HOST_FOLDER, SETTINGS_TEMPLATE } from "./application-names.ts";

/** One line of text, without characters that break it, write in another direction, or are halves of others. */
export const PLAIN_LINE = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u;

/** Path in an application's folder: one that every file system takes. @param fault message for any other text */
export const pathInside = (fault: string) =>
  pathBelow(fault)
    .regex(PLAIN_LINE, "must be one line, without control characters")
    .refine(
      (path) => path.split("/").every((name) => Buffer.byteLength(name) <= 255),
      "has a name of more than 255 bytes",
    );

/** Names in an application's folder that are not data: of the host, of package managers, and of Sealift. */
const RESERVED = new Set([HOST_FOLDER, "node_modules", ".env", SETTINGS_TEMPLATE, APPLICATION_FILE]);

/** Folder of an application for data, by its plain path: no link of the host can lead elsewhere. */
export const dataFolder = later(() =>
  pathInside("must be a path inside the application's folder")
    .refine(
      (path) => path.split("/").every((name) => name !== "" && name !== "."),
      "must be a plain path such as storage or var/data, without .",
    )
    // Some file systems hold names equal but for case.
    .refine(
      (path) => !path.split("/").some((name) => RESERVED.has(name.toLowerCase())),
      `must not contain ${[...RESERVED].join(", ")}`,
    ),
);
