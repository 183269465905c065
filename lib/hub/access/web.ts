import type { FastifyPluginAsync } from "fastify";
import type { ErrorListeners, UnknownPaths } from "../http/error-answers.ts";
import type { MountOptions } from "./authentication.ts";
import type { PersonKeys } from "./person-keys.ts";
import type { SignInWay } from "./sign-in-way.ts";
import type { WebCalls } from "./web-calls.ts";
import type { WebSessions } from "./web-sessions.ts";

/** Parts of the hub that its pages use directly. For stored data they call its routes. */
export interface WebHub extends ErrorListeners {
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  publicUrl: () => string;
  webSessions: WebSessions;
  /** Way to sign in other than with an API key, if configured. */
  signIn: SignInWay | undefined;
}

/**
 * Pages for browsers, served beside the routes. They are passed to the hub as a plugin, so it depends on none of them.
 */
export type Web = FastifyPluginAsync<
  MountOptions<WebHub> & { webCalls: WebCalls; unknownPaths: UnknownPaths; personKeys: PersonKeys }
>;
