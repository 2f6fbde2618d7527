/** The processor time of this process so far: unlike the clock, it does not run while other programs use the machine. Ms. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
