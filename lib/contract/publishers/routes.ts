import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import {
  exchangeAnswer,
  exchangeRequest,
  publisherRecord,
  publisherRequest,
  publisherTest,
  publisherTestRequest,
} from "./publishers.ts";

const shared = { mount: "devkeys", who: { key: ["keys"] }, tags: ["publishers"] } as const;

export const addPublisher = {
  ...shared,
  method: "POST",
  path: "/publishers",
  summary: "Trust a workflow of a CI system to publish to a target, or to create it",
  body: publisherRequest,
  ok: { 201: publisherRecord },
  errors: [404, 409],
} as const satisfies Route;

export const listPublishers = {
  ...shared,
  method: "GET",
  path: "/publishers",
  summary: "The trusted publishers of the key's owner or target",
  query: pageQuery,
  ok: { 200: page(publisherRecord) },
} as const satisfies Route;

export const removePublisher = {
  ...shared,
  method: "DELETE",
  path: "/publishers/:publisher",
  summary: "Trust a publisher no longer; the keys that it got end, too",
  ok: { 204: noContent },
} as const satisfies Route;

export const testPublisher = {
  ...shared,
  method: "POST",
  path: "/publishers/:publisher/test",
  summary: "Compare an identity token with a publisher, without using it up",
  body: publisherTestRequest,
  ok: { 200: publisherTest },
  secret: ["token"],
} as const satisfies Route;

export const exchangeToken = {
  ...shared,
  method: "POST",
  path: "/exchange",
  who: { everyone: true },
  otherHosts: "none",
  summary: "Exchange the identity token of a workflow run for a key of a quarter of an hour",
  body: exchangeRequest,
  ok: { 201: exchangeAnswer },
  errors: [401, 403, 409],
  secret: ["token"],
} as const satisfies Route;
