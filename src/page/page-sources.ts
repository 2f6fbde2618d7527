import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('static/', import.meta.url)

/** Packages of the page, by the name under which the page imports them. Each is one file for browsers. */
const packages = { 'markdown-it/browser': 'markdown-it.js' } as const

/** A browser does not find packages by their names. */
function withPaths(source: string): string {
  return Object.entries(packages).reduce((text, [name, file]) => text.replaceAll(`'${name}'`, `'./${file}'`), source)
}

/** The files of the page by name. The build replaces this module with one that contains them (rolldown.config.ts). */
export const pageSources: ReadonlyMap<string, string> = new Map([
  ...readdirSync(folder)
    .filter((name) => name !== 'tsconfig.json')
    .map((name) => [name, withPaths(readFileSync(new URL(name, folder), 'utf8'))] as const),
  ...Object.entries(packages).map(
    ([name, file]) => [file, readFileSync(new URL(import.meta.resolve(name)), 'utf8')] as const,
  ),
])
