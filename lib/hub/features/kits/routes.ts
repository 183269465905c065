import type { FastifyRequest } from "fastify";
import { isUsableReader } from "../../../artifact/sealed/age.ts";
import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import { hubSaysDigest, hubSaysText, sealKitTerms, signHubsWord } from "../../../artifact/sealed/kit.ts";
import { publicKeyOf } from "../../../artifact/signatures/ed25519.ts";
import type { KitHost, MadeKit } from "../../../contract/kits/records.ts";
import * as routes from "../../../contract/kits/routes.ts";
import type { HubSays } from "../../../contract/kits/texts.ts";
import { SIGNATURE_PREFIX } from "../../../contract/surfaces/headers.ts";
import { targetText } from "../../../contract/target.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { authorizeDek } from "../../access/authorize-dek.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { targetAccess } from "../../access/target-access.ts";
import { notFound, unprocessable } from "../../base/errors.ts";
import { recordId } from "../../base/identity.ts";
import type { Principal } from "../../base/principal.ts";
import { controls } from "../../base/rights.ts";
import { pageOf } from "../../http/documentation.ts";
import { hubKey } from "../../keys/hub-secret.ts";
import { findArtifact, locatedFacts } from "../../records/artifacts.ts";
import { statementsAbout } from "../../records/hooks.ts";
import { findProject, type Project } from "../../records/projects.ts";
import { fleetOf, subjectOf } from "../../records/subjects.ts";
import { findVersionById } from "../../records/versions.ts";
import type { VisibleVersion } from "../../records/visible-targets.ts";
import type { Core } from "../feature.ts";
import { requireOwnHosts } from "./host-records.ts";
import { actingFor, actsOn, endKit, findKit, type FoundKit, listKits, seenOwner, storeKit } from "./records.ts";
import { takeReport } from "./take-report.ts";

/** Version that a kit is made of. */
interface Packed {
  /** Project, plugin or service by its id, with its name in the audit log and as people write it. */
  id: string;
  subject: string;
  target: string;
  holder: string;
  /** Project of the hosts, for a plugin or service; null for a project's own kit, and where none is named. */
  hostsProjectId: string | null;
  /** Whether the key acts on the target, and not only sees it. */
  isControlled: boolean;
  version: string;
  /** SHA-256 of the sealed bytes, and their key, base64. */
  digest: string;
  key: string;
  /** Facts of the version that its signatures do not cover. */
  says: HubSays;
}

/** Returns what the headers of an archive say. */
const describedArchive = (
  slug: string,
  { version, signature: hmac, author, repo, sizeBytes, sha256 }: VisibleVersion,
  rootVersion: number | null,
): NonNullable<HubSays["archive"]> => ({
  hmac: hmac.replace(SIGNATURE_PREFIX, ""),
  ...{ signature: author?.signature ?? null, signer: author?.key ?? null },
  ...{ named: `${slug}@${version}`, repo, size_bytes: Number(sizeBytes), sha256 },
  ...(rootVersion !== null && { root_version: rootVersion }),
});

/** Makes, lists and ends kits, and takes reports that come back from their hosts. */
export function kitRoutes(options: MountOptions<Core>): readonly Served[] {
  const { hub } = options;
  const { kysely: db, statements } = hub.database;
  const controlled = controlledBy(hub);

  /** Returns the seed of the key with which this hub signs kits; hubs of one database share it. */
  const signingSeed = (): Promise<Buffer> => hubKey(db, hub.keyring, "kits", hub.now());

  /** Returns what the hub says of a version. @param id of the version */
  async function saysOf(id: string, described: Pick<HubSays, "project" | "archive">): Promise<HubSays> {
    const version = await findVersionById(db, id);
    if (version === undefined) throw notFound("The version was deleted meanwhile.");
    return { ...described, facts: await statementsAbout(db, version) };
  }

  async function makeKit(
    request: FastifyRequest,
    principal: Principal,
    packed: Packed,
    { hosts, lasts_s: lasts }: { hosts: readonly KitHost[]; lasts_s: number },
  ): Promise<MadeKit> {
    for (const { host_id: host, x25519 } of hosts)
      if (!isUsableReader(Buffer.from(x25519, "hex")))
        throw unprocessable(`hosts: everybody could read what is sealed to the key of ${host}.`);
    // As it is on the wire, without fields that are undefined.
    const says = hubSaysText(JSON.parse(JSON.stringify(packed.says)) as HubSays);
    const { id: project_id, hostsProjectId, subject, target, holder, version, digest, key } = packed;
    const hostsOf = hostsProjectId ?? (holder === "" ? project_id : undefined);
    const now = hub.clock();
    const times = { made_at: new Date(now).toISOString(), ends_at: new Date(now + lasts * 1000).toISOString() };
    const id = recordId("kit", now);
    const authority = { principal, projectIds: [packed.isControlled ? project_id : null, hostsProjectId] } as const;
    const url = hub.publicUrl();
    const seed = await signingSeed();
    await audited(hub, request, authority, async (transaction, tell) => {
      const row = {
        id,
        project_id,
        hosts_project_id: hostsProjectId,
        holder,
        version,
        digest,
        ...times,
        ended_at: null,
      };
      if (hostsOf !== undefined) await requireOwnHosts(transaction, hostsOf, hosts);
      await storeKit(transaction, { ...row, made_by: principal.keyId, owner: principal.owner }, hosts);
      await tell({
        action: "kit.make",
        subject,
        facts: {
          ...{ kit: id, version, hosts: hosts.length, ends_at: times.ends_at },
          ...(hostsProjectId !== null && { hosts_project_id: hostsProjectId }),
        },
      });
    });
    const word = { kit: id, hub: url, target, version, digest, ...times, said: hubSaysDigest(says) };
    const sealed = hosts.map((host) => {
      const to = hostFingerprint(host);
      return [to, sealKitTerms({ ...word, key, to }, host.x25519)] as const;
    });
    const hub_signature = signHubsWord(word, seed);
    return { id, hub: url, digest, ...times, says, hub_signature, hosts: Object.fromEntries(sealed) };
  }

  /** Finds a kit by its target or the project of its hosts, for a key that acts on it. @throws HubError 404 */
  async function kitOf(principal: Principal, projectId: string, kitId: string): Promise<FoundKit> {
    const found = await findKit(db, kitId);
    if (found === undefined || !actsOn(principal, found)) throw notFound("There is no such kit.");
    if (found.target.id !== projectId && found.hostsProject?.id !== projectId) throw notFound("There is no such kit.");
    return found;
  }

  /** Finds a project whose hosts get a kit. @throws HubError 404 for one that the key does not act on */
  async function projectOf(principal: Principal, id: string): Promise<Project> {
    const project = await controlled(principal, id);
    if (project.kind !== "project") throw notFound("There is no such project.");
    return project;
  }

  return [
    serve(routes.makeProjectKit, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { version, deployment_credential: deploymentCredential } = request.body;
      const found = await findArtifact(statements, project.id, version, principal);
      if (found === undefined) throw notFound("The project has no such version.");
      const { id: versionId, signature, sha256 } = found.artifact;
      const { artifact_sha256: _, ...described } = locatedFacts(found.artifact, project.root_version);
      const question = { projectId: project.id, deploymentCredential, artifactSignature: signature, principal };
      const dek = await authorizeDek(options, request, question);
      const target = targetText({ kind: "project", slug: project.id });
      const of = { id: project.id, subject: project.id, target, holder: "", hostsProjectId: null };
      const bytes = { version, digest: sha256, key: dek.toString("base64") };
      const says = await saysOf(versionId, { project: described });
      return makeKit(request, principal, { ...of, ...bytes, says, isControlled: true }, request.body);
    }),

    ...(["plugin", "service"] as const).map((kind) => {
      const access = targetAccess(kind, options);
      return serve(
        routes.makeArchiveKit[kind],
        (request, scopes) => access.version(request, scopes, request.body.version),
        async (request, { principal, target, version: found }) => {
          if (principal === undefined || target === undefined || found === undefined)
            throw notFound(`The ${kind} has no such version.`);
          const { slug } = request.params;
          const named = { kind, slug } as const;
          const fleet = fleetOf({ ...named, owner: principal.owner });
          const { version, digest, key, hosts_project_id: hostsProjectId = null } = request.body;
          if (hostsProjectId !== null) await projectOf(principal, hostsProjectId);
          const of = { id: target.id, subject: subjectOf(named), target: targetText(named), holder: fleet.holder };
          const root = (await findProject(db, target.id))?.root_version ?? null;
          const says = await saysOf(found.id, { archive: describedArchive(slug, found, root) });
          const packed = {
            ...of,
            hostsProjectId,
            isControlled: controls(principal, target),
            version,
            digest,
            key,
            says,
          };
          return makeKit(request, principal, packed, request.body);
        },
      );
    }),

    serve(routes.listKits, async (request, principal) => {
      const project = await findProject(db, request.params.id);
      const isControlled = project !== undefined && controls(principal, project);
      // A key that is bound to another target sees nothing of this one, whoever its owner is.
      if (project === undefined || (!isControlled && (principal.projectId !== null || project.kind === "project")))
        throw notFound("There is no such project, plugin or service.");
      const { host_id: host, live } = request.query;
      const asked = {
        projectId: project.id,
        owner: seenOwner(principal, project),
        ...{ host, liveAt: live === "true" ? hub.now() : undefined },
      };
      const found = await pageOf(request.query, { by: "id" }, (range) => listKits(db, asked, range));
      // Whoever only sees the target learns of nothing but the own kits, and not that the target is there.
      if (found.items.length === 0 && !isControlled) throw notFound("There is no such project, plugin or service.");
      return found;
    }),

    serve(routes.showKitKey, async () => ({
      hub_key: Buffer.from(publicKeyOf(await signingSeed())).toString("hex"),
    })),

    serve(routes.endKit, async (request, principal) => {
      const found = await kitOf(principal, request.params.id, request.params.kit);
      const { kit, target } = found;
      const authority = { principal, projectIds: [actingFor(principal, found)?.id ?? null] } as const;
      await audited(hub, request, authority, async (transaction, tell) => {
        if (!(await endKit(transaction, kit.id, hub.now()))) return;
        await tell({ action: "kit.end", subject: subjectOf(target), facts: { kit: kit.id, version: kit.version } });
      });
    }),

    serve(routes.submitKitReports, async (request, principal) => {
      const items = [];
      for (const text of request.body.reports) items.push(await takeReport(hub, principal, text));
      return { items };
    }),
  ];
}
