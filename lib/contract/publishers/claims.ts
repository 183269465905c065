/** Audiences and claims of the identity tokens that CI systems give their workflow runs. */

export const GITHUB_ISSUER = "https://token.actions.githubusercontent.com";
export const GITLAB_ISSUER = "https://gitlab.com";

/** Most claims that a publisher names. */
export const MAX_CLAIMS = 16;

/** Longest identity token, in characters: those of CI systems have some two thousand. */
export const MAX_TOKEN_CHARACTERS = 16_384;

/**
 * Claims of an issuer that a publisher must name, one of each list: the workflow, and ids that never change owner. An
 * account that takes over the name of a renamed or deleted repository gets other ids.
 */
const NEEDED: Readonly<Record<string, readonly (readonly string[])[]>> = {
  [GITHUB_ISSUER]: [["repository_id"], ["repository_owner_id"], ["workflow_ref", "job_workflow_ref"]],
  [GITLAB_ISSUER]: [["project_id"], ["namespace_id"], ["ci_config_ref_uri"]],
};

/** Returns the claims, by lists of which one is enough, that a publisher of an issuer must name and does not. */
export const missingClaims = (issuer: string, claims: object): readonly (readonly string[])[] =>
  (NEEDED[issuer] ?? []).filter((names) => !names.some((name) => Object.hasOwn(claims, name)));

/** Scopes that the keys of a publisher may have: publish, or stage versions that another person approves. */
export const PUBLISHER_SCOPES = ["publish", "stage"] as const;
