/** What `spawn` is called with. */
export interface SpawnLine {
  readonly file: string
  readonly args: readonly string[]
  /** Of Windows only: the arguments are quoted already. */
  readonly windowsVerbatimArguments: boolean
}

/**
 * Windows runs scripts such as npm's `.cmd` shims through its command interpreter alone, which has quoting rules of its
 * own, and the shim hands its arguments to the interpreter a second time.
 * Source: nodejs.org/api/child_process.html, "Spawning .bat and .cmd files on Windows" (2026-11).
 */
export function spawnLine(
  file: string,
  args: readonly string[],
  { env, platform }: { readonly env: Readonly<Record<string, string | undefined>>; readonly platform: NodeJS.Platform },
): SpawnLine {
  if (platform !== 'win32' || !/\.(?:cmd|bat)$/i.test(file)) return { file, args, windowsVerbatimArguments: false }
  const line = [escaped(file), ...args.map((argument) => escaped(escaped(quoted(argument))))].join(' ')
  return { file: env['ComSpec'] ?? 'cmd.exe', args: ['/d', '/s', '/c', `"${line}"`], windowsVerbatimArguments: true }
}

/** For the program's own parser: quotes, and backslashes before quotes, are doubled with backslashes. */
function quoted(argument: string): string {
  return `"${argument.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1')}"`
}

/** For the interpreter. */
function escaped(text: string): string {
  return text.replaceAll(/[()\][%!^"`<>&|;, *?]/g, '^$&')
}
