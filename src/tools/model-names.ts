import type { Tool } from './tool.ts'

/**
 * The APIs of models allow 64 characters of A-Z, a-z, 0-9, _ and -. Clients put the name of the server in front, such as
 * `mcp__copilot-proxy__`.
 */
const maxLength = 40

/**
 * The tools by the names that models know them by: `fs_read` for `mcp.fs.read`. Other sources name their tools freely; of two
 * tools that would get the same name, the later one gets a number.
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
