/** True when `If-None-Match` names the tag in question (RFC 9110, 13.1.2: weak comparison, `*` matches everything). */
export function matchesEtag(header: string | undefined, etag: string | undefined): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  if (etag === undefined) return false;
  const strong = (tag: string) => tag.trim().replace(/^W\//, "");
  return header.split(",").some((tag) => strong(tag) === strong(etag));
}
