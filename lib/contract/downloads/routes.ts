import * as z from "zod";
import { later } from "../later.ts";
import { bytes, notModified, type Route } from "../route.ts";

export const download = {
  mount: "deploy",
  method: "GET",
  head: true,
  path: "/v1/downloads/:id",
  // The URL itself is the credential: it is signed.
  who: { everyone: true },
  otherHosts: "none",
  load: "begun",
  tags: ["deploy hub"],
  summary: "The bytes of a URL that the hub has given; it expires, and ends with the key that it was given to",
  query: later(() =>
    z.object({
      expires: z.string().max(16).default(""),
      key: z.string().max(64).default(""),
      signature: z.string().max(128).default(""),
    }),
  ),
  ok: { 200: bytes("The whole artifact."), 206: bytes("The range asked for."), 304: notModified },
  errors: [403, 416],
} as const satisfies Route;
