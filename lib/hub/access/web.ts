import type { FastifyPluginAsync } from "fastify";
import type { ErrorListeners, UnknownPaths } from "../http/error-answers.ts";
import type { MountOptions } from "./authentication.ts";
import type { PersonKeys } from "./person-keys.ts";
import type { SignInWay } from "./sign-in-way.ts";
import type { WebCalls } from "./web-calls.ts";
import type { WebSessions } from "./web-sessions.ts";

/** The parts of the hub that its pages work with. What it stores, they ask of its routes. */
export interface WebHub extends ErrorListeners {
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  publicUrl: () => string;
  webSessions: WebSessions;
  /** The way to sign in beside API keys. */
  signIn: SignInWay | undefined;
}

/** Pages for browsers, served beside the routes. The hub gets them as a plugin and knows none of them. */
export type Web = FastifyPluginAsync<
  MountOptions<WebHub> & { webCalls: WebCalls; unknownPaths: UnknownPaths; personKeys: PersonKeys }
>;
