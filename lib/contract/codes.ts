/**
 * Every error code of the product, with its meaning and exit code. A released code keeps its meaning. `docs/errors.md`
 * and the exit codes are generated from this table.
 */

/** Exit codes of every program (docs/errors.md). */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  rejected: 3,
  verification: 4,
  refused: 5,
  rolledBack: 6,
  notApproved: 7,
  unsettled: 70,
  tryAgain: 75,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Exit codes in order of severity, worst last, to summarize several targets (docs/errors.md). */
const BY_SEVERITY: readonly ExitCode[] = [
  EXIT.done,
  EXIT.tryAgain,
  EXIT.failed,
  EXIT.usage,
  EXIT.notApproved,
  EXIT.refused,
  EXIT.rejected,
  EXIT.rolledBack,
  EXIT.verification,
  EXIT.unsettled,
  EXIT.interrupted,
];

/** Returns the worst of several exit codes. */
export const worstExit = (codes: readonly ExitCode[]): ExitCode =>
  codes.reduce((worst, code) => (BY_SEVERITY.indexOf(code) > BY_SEVERITY.indexOf(worst) ? code : worst), EXIT.done);

interface CodeEntry {
  exit: ExitCode;
  meaning: string;
}

const failed = (meaning: string): CodeEntry => ({ exit: EXIT.failed, meaning });
const usage = (meaning: string): CodeEntry => ({ exit: EXIT.usage, meaning });
const rejected = (meaning: string): CodeEntry => ({ exit: EXIT.rejected, meaning });
const verification = (meaning: string): CodeEntry => ({ exit: EXIT.verification, meaning });
const refused = (meaning: string): CodeEntry => ({ exit: EXIT.refused, meaning });
const tryAgain = (meaning: string): CodeEntry => ({ exit: EXIT.tryAgain, meaning });

export const CODES = {
  // Before anything is sent
  usage: usage("An option is missing, malformed or contradicts another one."),
  config_invalid: usage("A configuration file cannot be read or has a key or value that is not known."),
  credential_unreadable: usage("A secret's file, credential or standard input cannot be read or is empty."),
  key_file_invalid: usage("A signing or public key file holds no Ed25519 key in raw, hex, base64 or PEM form."),
  tls_invalid: usage(
    "The hub's TLS certificate or key cannot be read, they do not belong together, or everyone may open the key.",
  ),
  settings_of_fleet: usage("A name whose value the fleet gives was to be changed by `app env`."),
  settings_unreadable: usage("A value of fleet.yaml cannot be read: its file, its variable or its command."),
  upgraded_elsewhere: usage("The program belongs to a package manager, which upgrades it."),
  needs_supervisor: usage("The plan starts, stops, restarts or checks a plugin, and no supervisor was chosen."),
  interrupted: { exit: EXIT.interrupted, meaning: "A signal ended the program; what it was doing was undone." },
  output_lost: tryAgain("Standard output could not take all that was written; the work itself is done."),
  unsettled: {
    exit: EXIT.unsettled,
    meaning: "The program ended before its work had, a defect: please report it. Nothing is known of the outcome.",
  },
  internal: failed("A defect in this program: please report it."),

  // Answers of a hub
  key_missing: rejected("The request carries no API key or token."),
  key_rejected: rejected("The API key or token is unknown, revoked or has expired (401)."),
  forbidden: rejected(
    "The key is valid but may not do this: another project, a missing scope, an expired credential (403).",
  ),
  other_host: rejected("The key speaks for another host, or the host has a key of its own (403)."),
  host_removed: rejected("The host was removed: the key that spoke for it has been revoked (401)."),
  invite_ended: rejected("The invite has expired, is used up or was revoked (403)."),
  invite_other_host: rejected(
    "The terms of the invite name the hosts that may join, and this one is none of them (403).",
  ),
  name_taken: failed("Another project, plugin or service of the owner has the name (409)."),
  name_lookalike: failed("The name looks like another owner's, and the hub refuses such names (409)."),
  host_key_removed: failed("A kit was to be made for the key of a host that was removed from the project (409)."),
  host_key_taken: failed(
    "A kit was to be made for a key that another host of the project has, by its kits or its card (409).",
  ),
  host_taken: failed("Another host of the project has the name (409)."),
  host_pending: tryAgain("The host waits until somebody approves it (`sealift host approve`)."),
  not_found: failed("The hub knows no such project, version, artifact or target (404)."),
  conflict: failed("The request contradicts what the hub already holds (409)."),
  settings_conflict: failed("Settings of a host were uploaded by somebody else meanwhile (409)."),
  settings_failed: failed("A host could not use its settings; hosts of later waves did not get theirs."),
  settings_unfinished: tryAgain("Hosts did not say in time what became of their settings."),
  rate_limited: tryAgain("Too many requests (429); the message says when to come back."),
  hub_unavailable: tryAgain("The hub cannot answer now (408 or 5xx)."),
  runtime_unavailable: tryAgain("The runtime cannot answer now, or failed at the request (408 or 5xx)."),
  hub_refused: failed("The hub refused the request (another 4xx status)."),
  bad_answer: failed("The hub's answer is not what the contract says, for example an HTML page or missing fields."),
  bad_request: refused("The request has a malformed field (400)."),
  unprocessable: refused("The request lacks a field or has one of the wrong form (422)."),
  unsupported_media_type: refused("The request's content type is not the one that the route takes (415)."),

  // Connection to the hub
  connection_failed: tryAgain("The connection could not be made or was lost and did not come back."),
  too_slow: tryAgain("The other side sent fewer bytes than a download must have in its time."),
  timed_out: tryAgain("The other side was silent for longer than --timeout."),
  redirect_loop: failed("The hub redirects more than ten times or to where it has already been."),
  redirect_insecure: failed("The hub redirects from https to http."),
  redirect_origin: failed("The hub redirects a request that carries a secret to another origin."),
  redirect_invalid: failed("The hub redirects without a usable Location."),
  artifact_changed: tryAgain("The artifact's bytes changed while the download was being resumed."),
  download_incomplete: tryAgain("The download ended early, again and again, or is not as long as the hub said."),

  // Publishing
  publish_refused: refused("The hub refused the publication: a malformed or missing field, or no such project."),
  signer_refused: refused("The project's register does not hold the signer, or holds it as retired or revoked (403)."),
  signer_new: refused("No version that stands was signed by the key, and --new-signer refuse was given."),
  version_exists: refused("The version is published already, with other content (409)."),
  approval_required: refused("Versions of the target are approved by another person: publish with --stage (403)."),
  own_approval: rejected("The key, person or workflow run has staged the version; another one approves it (403)."),
  approval_differs: refused("The staged bytes are not those that were to be approved (409)."),
  project_in_use: refused("Hosts still report to the project that is to be deleted (409)."),
  version_deleted: refused("The version was deleted from the hub; its label is never used again (409)."),
  quota_exceeded: refused("The owner or project stores as much as it may on the hub (413)."),
  too_large: refused("The upload is larger than the hub accepts (413)."),
  upload_busy: tryAgain("Another request brings the same upload, or goes on with it (409)."),
  upload_offset: tryAgain("An upload that was cut goes on at another byte than the hub has come to (409)."),
  upload_differs: tryAgain("The bytes that the hub has kept of an upload are not those of the publisher (409)."),
  signature_rejected: refused("The hub found that the signature does not verify over the bytes that it received."),
  source_link: usage("The source tree holds a link; artifacts carry regular files and folders only."),
  source_special: usage("The source tree holds a socket, device or pipe."),
  source_unsafe: usage("The source tree holds a name that an agent would refuse."),
  source_changed: failed("A file changed while it was being packed."),
  source_invalid: usage(
    "The source tree lacks a plugin, its descriptor or the install plan, or one of them is not valid.",
  ),
  artifact_too_large: usage("The artifact would exceed what one AES-GCM message may hold (2^36 - 32 bytes)."),

  // Bytes that fail a check
  signature_missing: verification("The artifact came without its signature."),
  signature_invalid: verification("The signature does not verify: these are not the bytes that the signer made."),
  sealed_invalid: verification("A sealed text was made for another reader, or changed on its way."),
  terms_invalid: verification(
    "The terms of an invite are not those that its line names, or not signed by its operator.",
  ),
  card_invalid: verification("A host's card has another form, or is not signed by the keys that it names."),
  settings_invalid: verification("A host's settings have another form, or are not signed by the operator they name."),
  settings_other: verification("Settings are of another host or project than the one that they came to."),
  settings_old: verification("Settings have a lower number than those that the host holds, or the same one."),
  settings_operator: verification("Settings are signed by an operator whom the host has not pinned."),
  outcome_invalid: verification("What a host says of its settings has another form, or is not signed by its key."),
  kit_unreadable: verification(
    "A kit's file is missing, of another kind, too large or malformed, or the stick was pulled out.",
  ),
  kit_foreign: verification("A kit is not for this host, target or hub."),
  kit_changed: verification("A kit's files do not belong together: one was changed, swapped or cut short."),
  kit_incomplete: verification("A version names plugins that are fetched from elsewhere, which a kit does not bring."),
  kit_ended: verification("A kit has ended; --allow-ended takes it with a warning."),
  kit_older: verification("A kit was made before one that this host has accepted."),
  kit_report_invalid: verification("A report that came back has another form, or a host of its kit has not signed it."),
  kit_unwritable: failed("A stick does not take a file: it is read-only, or was pulled out."),
  kit_too_large: failed(
    "A kit's bytes are larger than a file may be on the stick: FAT32 ends at 4 GiB, exFAT does not.",
  ),
  kit_unknown: failed("The hub knows no such kit of the key's."),
  host_key_changed: verification("A host has another key than the roll names: somebody may stand in its place."),
  host_renamed: verification("A key of the roll has come back under another host's name."),
  signer_untrusted: verification("The artifact was signed by another key than the pinned one."),
  ciphertext_truncated: verification("The artifact ends before its nonce and tag are complete."),
  decryption_failed: verification("The GCM tag does not verify: wrong key, or changed bytes."),
  zstd_invalid: verification(
    "The plaintext is not exactly one zstd frame with its content size and an allowed window.",
  ),
  tar_invalid: verification("The archive inside the artifact is malformed or ends early."),
  zip_invalid: verification("The ZIP archive is malformed."),
  zip_ambiguous: verification("Two readers see other names, sizes or bytes in the ZIP archive."),
  member_unsafe: verification("A member's name would leave its folder or is not portable."),
  member_type: verification("A member is neither a regular file nor a folder."),
  member_duplicate: verification("Two members have the same name, or names that some file systems hold equal."),
  limit_exceeded: verification("The archive has more, larger or deeper members than the limits allow."),
  manifest_missing: verification("The artifact has no manifest.json."),
  manifest_invalid: verification("The manifest is not valid."),
  manifest_mismatch: verification("The manifest is that of another project or version."),
  digest_mismatch: verification("The tree's digest is not the manifest's content_sha256."),
  record_damaged: verification(
    "A record of a hub's database or backup, or the artifact of one, is not what it should be; the message names it.",
  ),
  plugin_digest_mismatch: verification("A plugin's digest is not the one in the manifest."),
  plugin_missing: verification("The manifest names a plugin or extension that is not in the artifact."),
  descriptor_mismatch: verification("An archive's plugin.yaml is that of another plugin or version."),
  descriptor_invalid: verification("A plugin's plugin.yaml is missing or not valid."),
  header_mismatch: verification("A response header names another plugin, service or version than the one asked for."),
  app_invalid: verification(
    "An application's app.yaml is missing or not valid, or it names a command that is not an executable file.",
  ),
  delta_invalid: verification("A delta describes a tree that its base and its own bytes do not make."),
  delta_base_changed: verification("A file of the running release, which a delta needs, is not what was installed."),
  index_invalid: verification("The index of an earlier version was not sealed by this signer, or is malformed."),
  source_unpinned: verification("A plugin that is fetched at deployment time has no sha256 in the manifest."),
  statement_invalid: verification("A statement of a version is malformed, unendorsed, or about something else."),
  trust_changed: verification("The signer's key is not the one that was trusted on first use."),
  trust_root_invalid: verification("A trust root is malformed, or has a key that no verifier accepts."),
  trust_root_undersigned: verification("A trust root has fewer signatures than it or the version before demands."),
  trust_root_other: verification("A trust root is another one than the host follows."),
  trust_root_order: verification("A version of a trust root does not come next: it is lower, or one is missing."),
  trust_key_unnamed: usage("The private key is none that a version of a trust root counts: it would sign nothing."),
  trust_root_forked: failed("The hub has another version of the trust root under this number (409)."),

  // Deploying
  no_version: failed("No version has been published yet."),
  fleet_behind: tryAgain("Too few hosts run the version within the time that was given."),
  wave_empty: failed("No host has the label that chooses a wave of the rollout (409)."),
  rollout_halted: failed("The rollout was halted: too many hosts failed, or its version was taken back."),
  rollout_ended: failed("The rollout ended before every wave was done: it was aborted or replaced."),
  stage_ended: {
    exit: EXIT.notApproved,
    meaning: "The staged version was rejected or removed, or others of its label took its place: nobody gets it.",
  },
  stage_unfinished: tryAgain("The version still waits for approval, and the time to wait for that is over."),
  rollout_unfinished: tryAgain("The rollout goes on, and the time to wait for it is over."),
  webhook_failed: failed("A test message did not reach a webhook's receiver."),
  identity_unavailable: tryAgain("The CI system gave the run no identity token."),
  publisher_differs: rejected("An identity token is not one of the publisher that it was compared with."),
  no_release: failed("The release to go back to is not kept on this host."),
  release_damaged: failed("Files of the release to go back to are missing or were changed; nothing was switched."),
  plan_missing: verification("The artifact has no deployment/install.yaml."),
  plan_invalid: verification("The install plan has an unknown key, a wrong value, a cycle or an unknown plugin."),
  plan_mismatch: verification("The install plan belongs to another project."),
  id_taken: failed("Another target has already installed a plugin or extension of this id in the project root."),
  data_conflict: failed("A plugin's data exists both in its folder and under .sealift/data."),
  root_busy: tryAgain("Another deployment holds the lock of the project root."),
  target_watched: tryAgain("Another watch follows the target in this project root."),
  app_not_installed: failed("The project root has no such application installed."),
  migration_failed: failed("The migration of an application ended with an error."),
  app_stopped: failed("An operator has the application stopped (`sealift app stop`)."),
  apps_served: tryAgain("Another `sealift app serve` runs the applications of this project root."),
  journal_unreadable: failed(
    "The journal of a deployment that was cut short is damaged or of another version of Sealift; nothing was touched.",
  ),
  release_unreadable: failed(
    "Another version of Sealift wrote the record of the running release; nothing was touched.",
  ),
  root_foreign: failed(
    "Root was asked to write in a project root that another user owns or can replace; --allow-foreign-root permits it.",
  ),
  root_unusable: failed(
    "The project root cannot be created or written, or something else stands in the place of its folders.",
  ),
  quarantined: failed(
    "This version was rolled back or failed a check before; it stays out until a newer one comes or a person retries it.",
  ),
  rights_held: failed("The version asks for more rights than the running one; it waits until a person consents."),
  app_not_allowed: failed(
    "The project root's applications.yaml does not allow an application of the version, or gives it no address; it waits.",
  ),
  needs_unmet: failed("A program that an application needs is missing on the host or is of another version."),
  port_taken: failed("Another program answers on the address of an application that does not run yet."),
  policy_refused: failed("The version does not meet the host's policy; the message names the rule, and why."),
  downgrade_refused: failed("The version is lower than the running one; --allow-downgrade permits it."),
  provisioner_missing: failed("The plan provisions a plugin for which provisioners.yaml has no entry."),
  provision_failed: failed("The provisioner ended with an error or took too long."),
  provision_lost: failed("The provisioner wrote files in the new release where the host keeps its own."),
  env_missing: failed("A required environment value is empty."),
  supervisor_failed: failed("The supervisor's program failed to start, stop or restart a unit."),
  supervisor_unavailable: tryAgain(
    "The supervisor itself cannot work: no systemd, a stopped docker daemon, a runtime that does not listen.",
  ),
  unhealthy: failed("The healthcheck failed."),
  program_missing: failed("The version to upgrade to holds no program for this platform, or several."),
  program_unfit: failed("The new program does not pass its own self-check; the present one goes on."),
  program_unusable: failed("The program's own file cannot be replaced, or there is no former one to go back to."),
  old_release_runs: failed(
    "What runs comes from another release than the one that was switched to: the plan restarts it too late or not at all.",
  ),
  rolled_back: { exit: EXIT.rolledBack, meaning: "The new release failed after the switch; the previous one is back." },
  not_back: failed("The new release failed after the switch, and the previous one, installed again, does not work."),
  deadline_exceeded: tryAgain("The deployment took longer than --deadline and was undone."),
  disk_full: tryAgain("The disk is full."),
  host_exhausted: tryAgain("The machine or a limit of it leaves no more open files, processes or memory."),
} as const satisfies Record<string, CodeEntry>;

export type Code = keyof typeof CODES;
