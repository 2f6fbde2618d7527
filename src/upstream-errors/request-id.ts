/** The header in which each upstream names its request, for its support (docs/copilot-wire.md, docs/codex-wire.md). */
const names = [
  ['x-github-request-id', 'GitHub request id'],
  ['x-copilot-service-request-id', 'Copilot request id'],
  ['x-oai-request-id', 'OpenAI request id'],
  ['cf-ray', 'Cloudflare ray'],
] as const

/** Longer than any id seen, without spaces. */
const plainId = /^[\w.:-]{1,128}$/

/** `GitHub request id 1A2B:3C4D`, for the end of a message; undefined if no header has one. */
export function nameRequestId(header: (name: string) => string | null | undefined): string | undefined {
  for (const [name, words] of names) {
    const id = header(name)?.trim() ?? ''
    if (plainId.test(id)) return `${words} ${id}`
  }
  return undefined
}
