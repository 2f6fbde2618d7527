// What the command line hands to each command; `program.ts` declares the options these stand for.

interface GlobalFlags {
  /** As written by the user; undefined: the configuration's own rules find the file. */
  readonly config?: string | undefined
}

export interface ReportFlags extends GlobalFlags {
  readonly json?: true
}

export interface LoginFlags extends GlobalFlags {
  readonly provider: string
  /** False after `--no-browser`. */
  readonly browser: boolean
  readonly device?: true
  readonly tokenStdin?: true
  readonly host?: string
  readonly web?: true
}

export interface LogoutFlags extends GlobalFlags {
  /** Undefined: the user named none. */
  readonly provider: string | undefined
  readonly all?: true
}

export interface ServeFlags extends GlobalFlags {
  readonly port?: string
  readonly host?: string
  readonly demo?: true
  readonly logLevel?: string
  readonly logFormat?: string
}
