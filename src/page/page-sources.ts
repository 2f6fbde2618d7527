import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('static/', import.meta.url)

/** The unchanged files of static/ by name. The build replaces this module with one that contains them (rolldown.config.ts). */
export const pageSources: ReadonlyMap<string, string> = new Map(
  readdirSync(folder)
    .filter((name) => name !== 'tsconfig.json')
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
)
