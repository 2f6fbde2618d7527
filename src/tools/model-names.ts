import type { Tool } from './tool.ts'

/**
 * Model APIs allow 64 characters of A-Z, a-z, 0-9, _ and -. Clients add the name of the server as a prefix, such as
 * `mcp__copilot-proxy__`.
 */
const maxLength = 40

/**
 * Maps names for models to tools: `fs_read` for `mcp.fs.read`. If two tools would get the same name, the later one gets a
 * number, because other sources name their tools freely.
 */
export function nameForModels(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const named = new Map<string, Tool>()
  for (const tool of tools) {
    const name = toModelName(tool.name)
    let unique = name
    for (let number = 2; named.has(unique); number += 1) unique = `${name}_${number}`
    named.set(unique, tool)
  }
  return named
}

function toModelName(name: string): string {
  return name
    .replace(/^mcp\.(?=.)/, '')
    .replaceAll(/[^A-Za-z0-9_-]/gu, '_')
    .slice(0, maxLength)
}
