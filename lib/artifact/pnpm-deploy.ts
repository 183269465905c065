/** Command by which pnpm makes a folder of plain files; pnpm 10 wants the second setting. */
export const PNPM_DEPLOY =
  "pnpm --filter NAME --config.node-linker=hoisted --config.inject-workspace-packages=true deploy --prod FOLDER";
