/** Whether git obeys a file `config.worktree` beside a configuration of this text (git-worktree(1), "Configuration file"). */
export function usesWorktreeConfig(text: string): boolean {
  return /(?:^|\])[ \t]*worktreeconfig\b/im.test(text)
}

/**
 * Returns the paths that a configuration of git gives to a key, such as `hooksPath` (git-config(1)). The key counts in every
 * section, because a path too many does no harm. Included files are not read.
 */
export function pathsIn(text: string, key: string): readonly string[] {
  const pattern = new RegExp(String.raw`(?:^|\])[ \t]*${key}[ \t]*=[ \t]*(.*)$`, 'gim')
  return Array.from(text.matchAll(pattern), ([, value = '']) => {
    const plain = /^"((?:[^"\\]|\\.)*)"/.exec(value)?.[1] ?? value.replace(/[#;].*$/, '').trim()
    return plain.replaceAll(/\\(.)/g, '$1')
  }).filter((value) => value !== '' && !value.startsWith('~'))
}
