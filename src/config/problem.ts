/** Where a value was written. Lines and columns count from 1; absent when the file as a whole is meant. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line?: number; readonly column?: number }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }

export interface Problem {
  readonly source: Source
  /** Dotted, as in `server.port`; '' when no single setting is meant. */
  readonly key: string
  /** One clause, such as `expected true or false, got "maybe"`. Never holds a secret. */
  readonly detail: string
}

/** Everything that is wrong with a configuration, in the order flags, environment, file from top to bottom. */
export interface ConfigError {
  readonly problems: readonly Problem[]
}

/** `config.yaml:7:9`, `COPILOT_PROXY_SERVER_PORT`, `--port` or `default`. */
export function formatSource(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'file':
      return [source.path, source.line, source.column].filter((part) => part !== undefined).join(':')
    case 'environment':
    case 'flag':
      return source.name
  }
}

/** One line per problem: `config.yaml:7:9  server.port  expected a whole number from 0 to 65535, got "abc"`. */
export function formatConfigError(error: ConfigError): string {
  return error.problems
    .map(({ source, key, detail }) => [formatSource(source), key, detail].filter((part) => part !== '').join('  '))
    .join('\n')
}
