import { foldCase } from '../paths.ts'

/** Names of folders that are protected with their content, and of files. Compared after `foldCase`. */
const folders = ['.git', 'node_modules']

const files = [
  '.agent-policy.yaml',
  '.env*',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.ppk',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  'id_rsa*',
  'id_dsa*',
  'id_ecdsa*',
  'id_ed25519*',
  '.npmrc',
  '.netrc',
  '_netrc',
  '.pypirc',
  '.git-credentials',
]

/** Globs, for descriptions, of files that are denied unless a policy names exactly that file. */
export const protectedGlobs: readonly string[] = [...folders.map((name) => `**/${name}/**`), ...files]

/** Returns the name or pattern that protects a path, such as `.env*`. */
export function protectionOf(path: string): string | undefined {
  const names = path.split('/').map(foldCase)
  const folder = folders.find((name) => names.includes(name))
  // Also protect a folder named `.env` or `x.pem`, because a path does not show whether it names a file.
  return folder ?? files.find((pattern) => names.some((name) => matchesName(pattern, name)))
}

function matchesName(pattern: string, name: string): boolean {
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1))
  if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1))
  return name === pattern
}
