import type { CommandClass } from "clipanion";
import { Completion } from "./completion.ts";
import { DeployMarketplace } from "./deploy-marketplace.ts";
import { DeployProject } from "./deploy-project.ts";
import { DeployPublish } from "./deploy-publish.ts";
import { Doctor } from "./doctor.ts";
import { Fleet } from "./fleet.ts";
import { HubRotateKek } from "./hub-rotate-kek.ts";
import { HubServe } from "./hub-serve.ts";
import { Keygen } from "./keygen.ts";
import { KeysCreate, KeysList, KeysRevoke } from "./keys.ts";
import { MarketplacePublish, MarketplaceSearch, MarketplaceYank } from "./marketplace.ts";
import { MarketplaceSigningKey } from "./marketplace-signing-key.ts";
import { OpenArtifact } from "./open.ts";
import { PlanInit, PlanValidate } from "./plan.ts";
import { PluginInit } from "./plugin-init.ts";
import { PluginTest } from "./plugin-test.ts";
import { ProjectsCreate, ProjectsList } from "./projects.ts";
import { RuntimeServe } from "./runtime-serve.ts";
import { SystemdInstall } from "./systemd-install.ts";
import { WatchControl } from "./watch-control.ts";
import { WatchCommand } from "./watch.ts";

/** Every command of `sealift`. Their modules are light: what they do is loaded when they run. */
export const COMMANDS: readonly CommandClass[] = [
  Completion,
  DeployMarketplace,
  DeployProject,
  DeployPublish,
  Doctor,
  Fleet,
  HubRotateKek,
  HubServe,
  Keygen,
  KeysCreate,
  KeysList,
  KeysRevoke,
  MarketplacePublish,
  MarketplaceSearch,
  MarketplaceSigningKey,
  MarketplaceYank,
  OpenArtifact,
  PlanInit,
  PlanValidate,
  PluginInit,
  PluginTest,
  ProjectsCreate,
  ProjectsList,
  RuntimeServe,
  SystemdInstall,
  WatchCommand,
  WatchControl,
];
