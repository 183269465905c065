import { createServer } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { addressNames } from "../../contract/files/address-variables.ts";
import { type Application, application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import type { ApplicationGrant, ApplicationsFile } from "../../contract/files/applications.ts";
import { type AppLimits, beyond, LIMIT_NAMES } from "../../contract/files/limit-forms.ts";
import { hostAndPort } from "../../contract/files/socket-address.ts";
import { pluginId } from "../../contract/identifiers.ts";
import type { StatedGrant } from "../../releases/write-grant.ts";
import { namesIn, statsOf } from "../../support/files.ts";
import { readYamlFile } from "../../support/yaml-file.ts";

/** First port that is proposed, and most that are tried after it. */
const FIRST_PORT = 3000;
const MAX_TRIED = 1000;

/**
 * Reads what the applications of a release ask: of an `app.yaml`, of the folder of an application, or of a project with
 * `apps/`.
 *
 * @param id of the only application; default the name of its folder in `apps/`
 * @throws UsageError `usage`, `config_invalid`
 */
export async function askedApplications(path: string, id: string | undefined): Promise<Map<string, Application>> {
  const files = await descriptorsAt(resolve(path));
  const asked = new Map<string, Application>();
  for (const file of files) {
    const folder = dirname(file);
    const named = basename(dirname(folder)) === APPLICATIONS_FOLDER ? basename(folder) : undefined;
    const own = files.length === 1 ? (id ?? named) : named;
    if (own === undefined || !pluginId.safeParse(own).success)
      throw usageError("usage", `${file} does not say the id of its application.`, {
        hint: "Give it: sealift app allow ID --from app.yaml.",
      });
    if (id === undefined || id === own) asked.set(own, await readYamlFile(file, application));
  }
  if (asked.size > 0) return asked;
  throw usageError("usage", `There is no application ${id ?? ""}${id === undefined ? "" : " "}in ${path}.`, {
    hint: `Name an ${APPLICATION_FILE}, the folder of an application, or a project with ${APPLICATIONS_FOLDER}/.`,
  });
}

/** Returns applications with those that others are of before these: a grant names one that is there. */
export const basesFirst = (asked: ReadonlyMap<string, Application>): [string, Application][] =>
  [...asked].toSorted(([, a], [, b]) => Number(a.of !== undefined) - Number(b.of !== undefined));

async function descriptorsAt(path: string): Promise<string[]> {
  const stats = await statsOf(path);
  if (stats?.isDirectory() !== true) return [path];
  const own = join(path, APPLICATION_FILE);
  if ((await statsOf(own)) !== undefined) return [own];
  const apps = join(path, APPLICATIONS_FOLDER);
  const found = (await namesIn(apps)).toSorted().map((name) => join(apps, name, APPLICATION_FILE));
  const there = await Promise.all(found.map(async (file) => ((await statsOf(file)) === undefined ? [] : [file])));
  return there.flat();
}

/**
 * Returns the grant by which an application may run: addresses that it has stay, others get free ports, and no limit is
 * below what it asks for.
 *
 * @param given addresses that the operator states
 * @param taken addresses of other applications; those that are proposed are added
 */
export async function grantFor(
  app: Application,
  before: ApplicationGrant | undefined,
  given: Readonly<Record<string, string>>,
  taken: Set<number>,
): Promise<Required<Pick<StatedGrant, "listen">> & { limits: AppLimits }> {
  const listen: Record<string, string> = { ...before?.listen, ...given };
  for (const name of addressNames(app)) listen[name] ??= `127.0.0.1:${await freePort(taken)}`;
  const asked = app.limits ?? {};
  const caps = before?.limits ?? {};
  const raised = LIMIT_NAMES.filter(
    (name) => asked[name] !== undefined && (before === undefined || beyond({ [name]: asked[name] }, caps).length > 0),
  );
  return { listen, limits: Object.fromEntries(raised.map((name) => [name, asked[name]])) as AppLimits };
}

/** Returns the ports of all applications of a root. */
export const takenPorts = (grants: ApplicationsFile | undefined): Set<number> =>
  new Set(
    Object.values(grants?.applications ?? {}).flatMap(({ listen }) =>
      Object.values(listen).map((at) => hostAndPort(at).port),
    ),
  );

/** Finds a port of 127.0.0.1 that nobody has, and takes it. @throws UsageError `usage` */
async function freePort(taken: Set<number>): Promise<number> {
  for (let port = FIRST_PORT; port < FIRST_PORT + MAX_TRIED; port++) {
    if (taken.has(port)) continue;
    taken.add(port);
    if (await isFree(port)) return port;
  }
  throw usageError("usage", `No port from ${FIRST_PORT} on is free.`, {
    hint: "Give addresses by --listen and --port.",
  });
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve: found } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => found(false));
  server.listen(port, "127.0.0.1", () => server.close(() => found(true)));
  return promise;
}
