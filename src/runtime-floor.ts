/**
 * The security release of each maintained line that fixes all that is known to reach a server like this one: those of
 * 29 July 2026 (nodejs.org/en/blog/vulnerability/july-2026-security-releases; HTTPS identity checks on a reused session,
 * among others), which contain those of March (CVE-2026-21710: a header named `__proto__` ends the process).
 */
const patchedFloors: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [23, 2],
  24: [18, 1],
  26: [5, 1],
}

/**
 * What a person should know of the Node.js this runs on, or undefined when it is a maintained and patched one. A sentence
 * with what to do; lines newer than this program knows pass.
 * @param version as `process.version` has it, e.g. `v24.21.0`
 */
export function runtimeWarning(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.replace(/^v/, '').split('.').map(Number.parseFloat)
  const floor = patchedFloors[major]
  if (floor === undefined) {
    return major > newestLine
      ? undefined
      : `Node.js ${major} gets no security fixes any more. Install Node.js ${recommended} or newer.`
  }
  const isPatched = minor > floor[0] || (minor === floor[0] && patch >= floor[1])
  return isPatched
    ? undefined
    : `Node.js ${version} has known vulnerabilities. Update to ${major}.${floor.join('.')} or newer.`
}

const newestLine = Math.max(...Object.keys(patchedFloors).map(Number))
/** The line that has long-term support for longest today. */
const recommended = 24
