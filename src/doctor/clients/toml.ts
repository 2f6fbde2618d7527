/**
 * The texts of a TOML file by dotted key, as in `model_providers.own.base_url`. Only what a person writes for a setting
 * on one line: tables, and `key = "text"`. Everything else is passed over.
 */
export function readToml(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  let table = ''
  for (const line of text.split('\n')) {
    const header = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line)?.[1]
    if (header !== undefined) {
      table = `${plainKey(header)}.`
      continue
    }
    const [, key, basic, literal] = /^\s*([\w."'-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(line) ?? []
    const value = basic ?? literal
    if (key !== undefined && value !== undefined) values.set(table + plainKey(key), value)
  }
  return values
}

function plainKey(key: string): string {
  return key.replaceAll(/["'\s]/g, '')
}
