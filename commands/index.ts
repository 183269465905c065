import type { CommandClass } from "clipanion";
import { DeployProject } from "./deploy-project.ts";
import { DeployPublish } from "./deploy-publish.ts";
import { HubRotateKek } from "./hub-rotate-kek.ts";
import { HubServe } from "./hub-serve.ts";
import { Keygen } from "./keygen.ts";
import { KeysCreate, KeysList, KeysRevoke } from "./keys.ts";
import { OpenArtifact } from "./open.ts";
import { ProjectsCreate, ProjectsList } from "./projects.ts";

/** Every command of `sealift`. Their modules are light: what they do is loaded when they run. */
export const COMMANDS: readonly CommandClass[] = [
  DeployProject,
  DeployPublish,
  HubRotateKek,
  HubServe,
  Keygen,
  KeysCreate,
  KeysList,
  KeysRevoke,
  OpenArtifact,
  ProjectsCreate,
  ProjectsList,
];
