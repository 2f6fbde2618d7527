// What the command line hands to each command; `program.ts` declares the options these stand for.

import type { ClientId } from '../client-settings/clients.ts'
import type { SnippetId } from '../client-settings/snippets.ts'

interface GlobalFlags {
  /** As written by the user; undefined: the configuration's own rules find the file. */
  readonly config?: string | undefined
}

export interface ReportFlags extends GlobalFlags {
  readonly json?: true
}

export interface DoctorFlags extends ReportFlags {
  readonly cache?: true
}

export interface UsageFlags extends ReportFlags {
  readonly line?: true
  /** What has a line of its own in the totals. */
  readonly by: 'model' | 'key' | 'day'
}

export interface KeyFlags extends ReportFlags {
  /** Undefined: the user gave none. */
  readonly name: string | undefined
}

export interface LogsFlags extends ReportFlags {
  /** `-f`. */
  readonly follow?: true
  /** `-n`, as written. */
  readonly lines: string
}

export interface ServiceFlags extends ReportFlags {
  readonly dryRun?: true
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
  readonly port?: string | undefined
  readonly host?: string | undefined
  readonly demo?: true | undefined
  readonly logLevel?: string | undefined
  readonly logFormat?: string | undefined
  readonly detach?: true
  /** Only with `detach`. */
  readonly json?: true
  /** Who started this as the background daemon; it writes log and record into the state folder then. */
  readonly background?: BackgroundStarter
}

/** This program itself (`serve --detach`), or the service manager of the system. */
export type BackgroundStarter = 'detach' | 'service'

export interface LaunchFlags extends GlobalFlags {
  readonly client: ClientId
  readonly demo?: true
  readonly model?: string
  /** For the client, as they are. */
  readonly args: readonly string[]
}

export interface SetupFlags extends GlobalFlags {
  readonly client: SnippetId
  readonly model?: string
  readonly dryRun?: true
  readonly undo?: true
  readonly yes?: true
  readonly print?: true
}
