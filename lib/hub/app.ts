import fastify, { type FastifyError, type FastifyInstance, type FastifyServerFactory } from "fastify";
import type { Route } from "../contract/route.ts";
import { type MarketplaceKind, MOUNTS } from "../contract/surfaces/paths.ts";
import { hostFault } from "../support/network/host-field.ts";
import { tellServer } from "../support/work.ts";
import { addRoutes } from "./access/add-routes.ts";
import { awaitAuditHooks } from "./access/audit.ts";
import { createAuthentication, type MountOptions, refuseAnonymous } from "./access/authentication.ts";
import { PersonKeys } from "./access/person-keys.ts";
import { limitRates } from "./access/rate-limits.ts";
import type { Web } from "./access/web.ts";
import { WebCalls } from "./access/web-calls.ts";
import { WebSessions } from "./access/web-sessions.ts";
import { badRequest, HubError } from "./base/errors.ts";
import type { Core, RunningFeature } from "./features/feature.ts";
import type { Connections } from "./http/connections.ts";
import { answerErrors, onClientError, sendError, type UnknownPaths } from "./http/error-answers.ts";
import { shedLoad } from "./http/load-shedding.ts";
import { markAnswers, requestId, tellRequests } from "./http/requests.ts";
import type { TlsServers } from "./http/tls.ts";
import { validatorCompiler } from "./http/validation.ts";
import { auditLog } from "./mounts/audit.ts";
import { deploy } from "./mounts/deploy.ts";
import { deployments } from "./mounts/deployments.ts";
import { devkeys } from "./mounts/devkeys.ts";
import { downloads } from "./mounts/downloads.ts";
import { health } from "./mounts/health.ts";
import { hostMarks } from "./mounts/host-marks.ts";
import { hubFacts } from "./mounts/hub-facts.ts";
import { marketplace } from "./mounts/marketplace.ts";
import { marketplaceManage } from "./mounts/marketplace-manage.ts";
import { marketplacePublish } from "./mounts/marketplace-publish.ts";
import { documentRoutes, openapi } from "./mounts/openapi.ts";
import { projectManage } from "./mounts/project-manage.ts";
import { publish } from "./mounts/publish.ts";
import { signers } from "./mounts/signers.ts";
import { signingKey } from "./mounts/signing-key.ts";
import type { ReadinessCheck } from "./storage/readiness.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";

/** Largest JSON body: a project report names up to 10,000 plugins. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Time after which an idle connection is closed, in milliseconds. */
const IDLE_TIMEOUT_MS = 120_000;

/** Returns a server factory with the settings that Fastify gives to servers of its own. */
const serversOf =
  (tls: TlsServers): FastifyServerFactory =>
  (handler, { keepAliveTimeout, requestTimeout }) =>
    Object.assign(tls.create(handler), { keepAliveTimeout, requestTimeout }).setTimeout(IDLE_TIMEOUT_MS);

/** Creates the Fastify app: what all routes share, then the mounts. */
export async function createApp(
  hub: Core,
  {
    publicUrl,
    connections,
    upkeep,
    readiness,
    trustedProxies,
    tls,
    web,
    features,
  }: {
    publicUrl: string | undefined;
    connections: Connections;
    upkeep: Upkeep;
    readiness: ReadinessCheck;
    trustedProxies: string[];
    tls: TlsServers | undefined;
    /** Pages, with the MAC key of browser sessions; undefined for a hub without pages. */
    web: { pages: Web; sessionKey: Buffer } | undefined;
    features: readonly RunningFeature[];
  },
): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    // Proxies whose X-Forwarded-For is trusted. Default: none.
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    bodyLimit: MAX_BODY_BYTES,
    connectionTimeout: IDLE_TIMEOUT_MS,
    // Fastify creates an additional server for each further address of `localhost`.
    ...(tls !== undefined && { https: {}, serverFactory: serversOf(tls) }),
    genReqId: requestId,
    // HEAD is answered wherever GET is (RFC 9110, 9.1).
    exposeHeadRoutes: true,
    // While draining, requests on open connections are still answered, with Connection: close.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1024, ignoreTrailingSlash: true },
    clientErrorHandler: onClientError,
    // Passing compilers keeps Fastify from loading its own. Response schemas are documentation only; TypeScript checks
    // those types.
    schemaController: {
      compilersFactory: {
        buildValidator: () => validatorCompiler as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
    frameworkErrors: (error: FastifyError, request, reply) => sendError(error, request as never, reply as never, hub),
  });
  app.removeContentTypeParser("text/plain");
  app.decorateRequest("credentialHash", null);
  const webCalls = new WebCalls();
  webCalls.attach(app);
  const unknownPaths: UnknownPaths = {};
  answerErrors(app, hub, unknownPaths);
  markAnswers(app);
  awaitAuditHooks(app, async (deed) => {
    for (const feature of features) await feature.afterAudit?.(deed);
  });
  connections.attach(app);
  tellRequests(app, hub);
  app.addHook("onRequest", ({ headers, raw }, _reply, done) => {
    const encoding = headers["content-encoding"] ?? "identity";
    const fault = hostFault(raw);
    const coding = headers["transfer-encoding"] ?? "chunked";
    if (fault !== undefined) done(badRequest(fault));
    else if (coding.toLowerCase() !== "chunked")
      done(badRequest(`The hub reads no body with Transfer-Encoding: ${coding.slice(0, 100)}.`));
    else if (encoding === "identity") done();
    else done(new HubError(415, "unsupported_media_type", `The hub reads no body with Content-Encoding: ${encoding}.`));
  });
  shedLoad(app, hub.database);
  await limitRates(app, hub);
  await documentRoutes(app, publicUrl);

  refuseAnonymous(app);
  const authentication = createAuthentication(hub, connections, (request, host) => {
    for (const feature of features) feature.hearHost?.(request, host);
  });
  const options: MountOptions<Core> = { hub, authentication };
  const ofFeatures = features.flatMap(({ routes }) => routes?.(options) ?? []);
  const featuresAt = (mount: Route["mount"]) => ofFeatures.filter(({ route }) => route.mount === mount);
  const keyService = [
    ...[devkeys, projectManage, signers, signingKey, hostMarks].flatMap((routes) => routes(options)),
    ...featuresAt("devkeys"),
    ...[auditLog, hubFacts].flatMap((routes) => routes(options)),
  ];
  const market = (kind: MarketplaceKind) => [
    ...[marketplace, marketplacePublish].flatMap((routes) => routes(options, kind)),
    ...featuresAt(`${kind}s`),
    ...marketplaceManage(options, kind),
  ];
  const deployHub = [...[deploy, publish, downloads].flatMap((routes) => routes(options)), ...featuresAt("deploy")];
  const fleets = [...deployments(options), ...featuresAt("deployments")];
  const atRoot = [...health({ connections, upkeep, readiness }), ...featuresAt("root")];
  await addRoutes(app, [...atRoot, ...keyService], authentication);
  await addRoutes(app, keyService, authentication, MOUNTS.devkeysApp);
  await addRoutes(app, [...deployHub, ...market("plugin"), ...market("service"), ...fleets], authentication);
  app.addHook("preClose", (done) => {
    for (const feature of features) feature.preClose?.();
    done();
  });
  openapi(app);
  if (web !== undefined) {
    const signIn = features.find((feature) => feature.signIn !== undefined)?.signIn;
    const webSessions = new WebSessions(web.sessionKey, hub.clock, signIn?.grantNames);
    const parts = { webCalls, unknownPaths, personKeys: new PersonKeys(hub) };
    await app.register(web.pages, { ...options, ...parts, hub: { ...hub, webSessions, signIn } });
  }
  tellServer(app.server);
  return app;
}
