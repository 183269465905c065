/** Warns of a slug that people may take for others. */
export const lookAlikeText = (slug: string, others: readonly string[]): string =>
  `warning: the slug ${slug} looks like ${others.join(", ")} of another owner: people may take one for the other.`;
