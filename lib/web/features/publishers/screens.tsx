import * as routes from "../../../contract/publishers/routes.ts";
import { unprocessable } from "../../../hub/ground/errors.ts";
import { callTo } from "../../page/api.ts";
import { field, param, type Screen } from "../../page/context.ts";
import { PublishersPage } from "./page.tsx";
import { publishersPath } from "./paths.ts";

export const publishers: Screen = async ({ api }, request) => (
  <PublishersPage {...await api.page(request, callTo(routes.listPublishers, { query: { limit: "50" } }))} />
);

/** Reads `NAME=VALUE` of each line. @throws HubError 422 */
function claimsOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim());
  return Object.fromEntries(
    lines
      .filter((line) => line !== "")
      .map((line) => {
        const equals = line.indexOf("=");
        if (equals < 1) throw unprocessable("claims: each line is NAME=VALUE.");
        return [line.slice(0, equals), line.slice(equals + 1)];
      }),
  );
}

/** The target of the form: one that is there, or one to create. @throws HubError 422 */
function placeOf(target: string, isPending: boolean) {
  if (!isPending) return { target };
  const [, kind, name] = /^(plugin|service|project):(.+)$/.exec(target) ?? [];
  if (kind === undefined || name === undefined)
    throw unprocessable("target: is plugin:SLUG, service:SLUG or project:NAME.");
  return { creates: { kind: kind as "plugin", name, ...(kind !== "project" && { slug: name }) } };
}

export const addPublisher: Screen = async ({ api }, request) => {
  const given = (name: string): string => field(request, name) ?? "";
  const body = {
    ...placeOf(given("target"), field(request, "pending") !== undefined),
    ...{ name: given("name"), issuer: given("issuer"), audience: given("audience"), claims: claimsOf(given("claims")) },
    ...(field(request, "stage") !== undefined && { scope: "stage" }),
  };
  await api.call(request, callTo(routes.addPublisher, { body }));
  return { goTo: publishersPath };
};

export const removePublisher: Screen = async ({ api }, request) => {
  const params = { publisher: param(request, "publisher") };
  await api.call(request, callTo(routes.removePublisher, { params }));
  return { goTo: publishersPath };
};
