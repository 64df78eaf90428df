// Calls as requests, and as commands that people paste into a terminal. No DOM: tested without a browser.

/** The address of an operation, below the HTTP door. */
export const pathOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** The call as a command. The token is left to the environment: commands end up in histories. */
export function curl(
  url: string,
  body: string | undefined,
  { isStream = false, hasToken = false } = {},
): string {
  const parts = [`curl ${isStream ? "-N " : ""}-X POST ${quoted(url)}`];
  if (hasToken) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (isStream) parts.push("-H 'Accept: text/event-stream'");
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** A text that a shell takes as it is. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
