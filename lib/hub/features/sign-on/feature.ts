import { hubKey } from "../../keys/hub-secret.ts";
import type { HubFeature } from "../feature.ts";
import { SignOn, type SignOnOptions } from "./sign-on.ts";

export interface SignInOptions {
  /** Identity provider for people who sign in. Default: none, so only API keys sign in. */
  signOn?: SignOnOptions;
}

/** Sign-in at the pages by an identity provider, where the operator has configured one. */
export const signOn: HubFeature<SignInOptions> = {
  name: "sign-on",
  async start({ database, keyring, clock, now }, { signOn: options }) {
    if (options === undefined) return {};
    return { signIn: new SignOn(options, await hubKey(database.kysely, keyring, "sign-on", now()), clock) };
  },
};
