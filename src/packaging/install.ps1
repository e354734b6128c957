# Installs svc for the user who runs it, without administrator rights: irm <host>/install.ps1 | iex
# With options: & ([scriptblock]::Create((irm <host>/install.ps1))) -Version v1.2.3 [-Dir D] [-From URL|FOLDER|FILE] [-Key KEY] [-NoModifyPath] [-Uninstall] [-Quiet]
# Windows PowerShell 5.1 and PowerShell 7. What it installs is verified with the key below, or not installed.
param(
  [string]$Version = '',
  [string]$Dir = '',
  [string]$From = '',
  [string]$Key = '',
  [switch]$NoModifyPath,
  [switch]$Uninstall,
  [switch]$Quiet
)

# The file at $Url, whole and not longer than $Most bytes. What came by https never goes on by http.
function Get-SvcDownload([string]$Url, [string]$Path, [long]$Most) {
  $address = [Uri]$Url
  for ($hop = 0; $hop -le 5; $hop++) {
    $request = [Net.WebRequest]::Create($address)
    $request.AllowAutoRedirect = $false
    $request.Timeout = 30000
    $request.ReadWriteTimeout = 30000
    $response = $null
    $file = $null
    try {
      $response = $request.GetResponse()
      $status = [int]$response.StatusCode
      if ($status -ge 300 -and $status -lt 400) {
        $next = New-Object Uri($address, [string]$response.Headers['Location'])
        if ($next.Scheme -ne 'https' -and -not ($next.Scheme -eq 'http' -and $address.Scheme -eq 'http')) {
          throw "$Url sends on to an address without https: not followed"
        }
        $address = $next
        continue
      }
      $stream = $response.GetResponseStream()
      $file = [IO.File]::Create($Path)
      $buffer = New-Object byte[] 65536
      [long]$total = 0
      while (($count = $stream.Read($buffer, 0, $buffer.Length)) -gt 0) {
        $total += $count
        if ($total -gt $Most) { throw "$Url is longer than the $Most bytes it may have: not taken" }
        $file.Write($buffer, 0, $count)
      }
      if ($response.ContentLength -ge 0 -and $total -ne $response.ContentLength) { throw "$Url ended after $total of $($response.ContentLength) bytes" }
      if ($total -eq 0) { throw "$Url is empty" }
      return
    } catch [Net.WebException] {
      throw "cannot download ${Url}: $($_.Exception.Message)"
    } finally {
      if ($null -ne $file) { $file.Dispose() }
      if ($null -ne $response) { $response.Dispose() }
    }
  }
  throw "$Url is redirected too often"
}

# A file of the release host or folder
function Get-SvcFile([string]$Base, [string]$Name, [string]$Path, [long]$Most) {
  if ($Base -match '^https?://') { return Get-SvcDownload "$Base/$Name" $Path $Most }
  $source = Join-Path $Base $Name
  if (-not (Test-Path -LiteralPath $source -PathType Leaf)) { throw "$source does not exist" }
  if ((Get-Item -LiteralPath $source).Length -gt $Most) { throw "$source is longer than the $Most bytes it may have: not taken" }
  Copy-Item -LiteralPath $source -Destination $Path
}

# Runs a program to its end: its exit code, and what it said
function Invoke-SvcProgram([string]$File, [string[]]$Arguments) {
  $start = New-Object Diagnostics.ProcessStartInfo
  $start.FileName = $File
  $start.Arguments = ($Arguments | ForEach-Object { '"' + $_ + '"' }) -join ' '
  $start.UseShellExecute = $false
  $start.RedirectStandardOutput = $true
  $start.RedirectStandardError = $true
  $start.EnvironmentVariables['SVC_NO_UPDATE_CHECK'] = '1'
  $process = [Diagnostics.Process]::Start($start)
  $complaint = $process.StandardError.ReadToEndAsync()
  $said = $process.StandardOutput.ReadToEnd()
  $process.WaitForExit()
  return @{ Code = $process.ExitCode; Said = $said.Trim(); Complaint = ($complaint.Result.Trim() -split "`r?`n")[0] }
}

# The SHA-256 that SHA256SUMS has for a file; empty when it has none
function Get-SvcSum([string]$Sums, [string]$Name) {
  $found = @([IO.File]::ReadAllLines($Sums) | Where-Object { $_.EndsWith("  $Name") })
  if ($found.Count -eq 0) { return '' }
  if ($found.Count -gt 1) { throw "SHA256SUMS has two lines for $Name" }
  if ($found[0] -cnotmatch '^[0-9a-f]{64}  ') { throw "SHA256SUMS has no SHA-256 for $Name" }
  return $found[0].Substring(0, 64)
}

function Test-SvcSum([string]$Path, [string]$Sum) {
  return (Get-FileHash -LiteralPath $Path -Algorithm SHA256).Hash -eq $Sum
}

# Removes a file if it can be: one that runs stays until svc update sweeps it up
function Remove-SvcLeftover([string]$Path) {
  try { [IO.File]::Delete($Path) } catch { Write-Verbose "$Path is in use" }
}

# Puts a file in the place of another, which may be running: Windows lets it be renamed, not replaced
function Move-SvcFile([string]$Path, [string]$Destination) {
  $aside = Join-Path (Split-Path -Parent $Destination) ".svc-update-$([Guid]::NewGuid()).old.exe"
  $replaces = Test-Path -LiteralPath $Destination
  if ($replaces) { [IO.File]::Move($Destination, $aside) }
  try {
    [IO.File]::Move($Path, $Destination)
  } catch {
    if ($replaces) { [IO.File]::Move($aside, $Destination) }
    throw
  }
  if ($replaces) { Remove-SvcLeftover $aside }
}

# The user's PATH as it is in the registry, with %NAMES% as they are; $Edit makes the new list of folders from the old
function Edit-SvcPath([scriptblock]$Edit) {
  $environment = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('Environment', $true)
  try {
    $kind = [Microsoft.Win32.RegistryValueKind]::ExpandString
    if (@($environment.GetValueNames()) -contains 'Path') { $kind = $environment.GetValueKind('Path') }
    $old = [string]$environment.GetValue('Path', '', [Microsoft.Win32.RegistryValueOptions]::DoNotExpandEnvironmentNames)
    $new = (& $Edit @($old -split ';' | Where-Object { $_ -ne '' })) -join ';'
    if ($new -eq $old -or $new -eq $old.TrimEnd(';')) { return $false }
    $environment.SetValue('Path', $new, $kind)
  } finally {
    $environment.Dispose()
  }
  # Setting any variable tells running programs that the environment has changed
  [Environment]::SetEnvironmentVariable('SVC_INSTALL_NOTICE', $null, 'User')
  return $true
}

function Test-SvcSameFolder([string]$A, [string]$B) {
  return [Environment]::ExpandEnvironmentVariables($A).TrimEnd('\') -eq [Environment]::ExpandEnvironmentVariables($B).TrimEnd('\')
}

function Get-SvcTarget {
  $machine = (Get-ItemProperty 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment' -ErrorAction SilentlyContinue).PROCESSOR_ARCHITECTURE
  if (-not $machine) { $machine = $env:PROCESSOR_ARCHITEW6432 }
  if (-not $machine) { $machine = $env:PROCESSOR_ARCHITECTURE }
  switch ($machine) {
    'AMD64' { return 'windows-amd64' }
    'ARM64' { return 'windows-arm64' }
    'x86' { throw 'there is no svc for 32-bit Windows: svc-windows-386, beside the builds, says what to do instead' }
    default { throw "there is no svc for $machine processors" }
  }
}

function Uninstall-Svc([string]$Dir) {
  $files = @(Get-ChildItem -LiteralPath $Dir -Force -ErrorAction SilentlyContinue | Where-Object {
      $_.Name -eq 'svc.exe' -or $_.Name -match '^svc-v\d+\.\d+\.\d+\.exe$' -or $_.Name -like '.svc-install*' -or $_.Name -like '.svc-update*'
    })
  foreach ($file in $files) {
    try { Remove-Item -LiteralPath $file.FullName -Recurse -Force } catch { throw "cannot remove $($file.FullName): is it running? $($_.Exception.Message)" }
  }
  $null = Edit-SvcPath { param([string[]]$Folders) $Folders | Where-Object { -not (Test-SvcSameFolder $_ $Dir) } }
  if ((Test-Path -LiteralPath $Dir) -and @(Get-ChildItem -LiteralPath $Dir -Force).Count -eq 0) { Remove-Item -LiteralPath $Dir -Force }
  if ($files.Count -gt 0) { return "svc is removed from $Dir; what it kept for you stays." }
  return "There is no svc in $Dir."
}

function Install-Svc([string]$Version, [string]$Dir, [string]$From, [string]$Key, [bool]$ModifyPath, [bool]$Uninstall, [bool]$Quiet) {
$PUBLIC_KEY = ""
$BASE_URL = ""
  $ErrorActionPreference = 'Stop'
  $ProgressPreference = 'SilentlyContinue'
  if ($env:OS -ne 'Windows_NT') { throw 'install.ps1 is for Windows; on Linux and macOS: curl -fsSL <host>/install.sh | sh' }
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

  if (-not $Dir) {
    $state = $env:SVC_HOME
    if (-not $state) { $state = Join-Path $env:USERPROFILE '.svc' }
    $Dir = Join-Path $state 'bin'
  }
  $Dir = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Dir).TrimEnd('\')
  if ($Uninstall) { return Uninstall-Svc $Dir }

  if ($Version -and $Version -notmatch '^v?\d+\.\d+\.\d+$') { throw "-Version: $Version is no version like v1.2.3" }
  if ($Version) { $Version = 'v' + $Version.TrimStart('v', 'V') }
  if ($PUBLIC_KEY) {
    if ($Key -and $Key -cne $PUBLIC_KEY) { throw "-Key: this script carries the key it trusts, $PUBLIC_KEY" }
    $Key = $PUBLIC_KEY
  }
  if ($Key -cnotmatch '^RW[Q-T][A-Za-z0-9+/]{53}$') { throw 'this copy of the script carries no key to verify with: say -Key with a minisign public key' }
  if (-not $From) { $From = $env:SVC_RELEASES }
  if (-not $From) { $From = $BASE_URL }
  if (-not $From) { throw 'this copy of the script does not know where releases are: say -From URL, FOLDER or FILE' }
  $target = Get-SvcTarget
  $program = "svc-$target.exe"

  $only = ''
  $source = $From.TrimEnd('/', '\')
  if ($From -notmatch '^https?://') {
    if ($From -match '^[a-z][a-z0-9+.-]+://') { throw "-From ${From}: only http and https URLs, folders and files" }
    $From = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($From)
    $source = $From
    if (Test-Path -LiteralPath $From -PathType Leaf) {
      $only = Split-Path -Leaf $From
      $From = Split-Path -Parent $From
      $source = ''
    }
  }
  $From = $From.TrimEnd('/', '\')
  $place = 'latest/'
  if ($Version) { $place = "releases/$Version/" }
  if ($From -notmatch '^https?://' -and (Test-Path -LiteralPath (Join-Path $From 'SHA256SUMS'))) {
    $place = ''
    $source = ''
  }

  $link = Join-Path $Dir 'svc.exe'
  if (Test-Path -LiteralPath $link -PathType Container) { throw "$link is a folder: move it away, or choose another place with -Dir" }
  $installed = ''
  if (Test-Path -LiteralPath $link) {
    if (-not (Test-Path -LiteralPath (Join-Path $Dir '.svc-install.json'))) { throw "$link was not put there by this script: move it away, or choose another place with -Dir" }
    try { $installed = (Invoke-SvcProgram $link @('version', '--tag-only')).Said } catch { $installed = '' }
    if ($installed -notmatch '^v\d+\.\d+\.\d+$') { $installed = '' }
  }
  $null = New-Item -ItemType Directory -Force -Path $Dir
  $temp = Join-Path $Dir ".svc-install-$([Guid]::NewGuid())"
  $null = New-Item -ItemType Directory -Path $temp
  try {
    $sums = Join-Path $temp 'SHA256SUMS'
    $signature = Join-Path $temp 'SHA256SUMS.minisig'
    Get-SvcFile $From "${place}SHA256SUMS.minisig" $signature 10000
    $lines = @([IO.File]::ReadAllLines($signature))
    if ($lines.Count -lt 4 -or $lines[1] -cnotmatch '^RU[Q-T][A-Za-z0-9+/]{96}=$' -or -not $lines[2].StartsWith('trusted comment: ')) { throw 'SHA256SUMS.minisig is no minisign signature over BLAKE2b-512' }
    if ($lines[1].Substring(2, 11) -cne $Key.Substring(2, 11)) { throw "the release is signed by another key than the one this script trusts ($Key)" }
    $comment = $lines[2].Substring('trusted comment: '.Length)
    if (-not ($comment -cmatch '^svc sums version:(v\d+\.\d+\.\d+) expires:(\S+Z)$')) { throw "the signature is not one of the sums of a release: $comment" }
    $signed = $Matches[1]
    $expires = $Matches[2]
    if ($Version -and $Version -ne $signed) { throw "$Version was asked for, and this is $signed" }
    if ($place -eq 'latest/') { $place = "releases/$signed/" }
    Get-SvcFile $From "${place}SHA256SUMS" $sums 1000000

    $verifier = ''
    $minisign = Get-Command minisign.exe -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    if ($minisign) {
      $verifier = 'minisign'
      $check = Invoke-SvcProgram $minisign.Path @('-V', '-Q', '-P', $Key, '-m', $sums, '-x', $signature)
      if ($check.Code -ne 0 -or $check.Said -cne $comment) { throw 'the signature does not fit SHA256SUMS, or its comment was changed' }
    }
    if (-not $Version) {
      if ([Xml.XmlConvert]::ToDateTimeOffset($expires) -le [DateTimeOffset]::UtcNow) {
        throw "what is called the latest release here, $signed, was so until ${expires}: the host is out of date, or the clock is wrong; -Version $signed takes it nevertheless"
      }
      if ($installed -and [version]$signed.Substring(1) -lt [version]$installed.Substring(1)) {
        throw "$installed is installed, and the latest release here is ${signed}: -Version $signed goes back to it"
      }
    }

    $sum = Get-SvcSum $sums $program
    if (-not $sum) { throw "release $signed has no svc for this machine ($target): SHA256SUMS has no $program" }
    $kept = Join-Path $Dir "svc-$signed.exe"
    if (Test-Path -LiteralPath $kept -PathType Container) { throw "$kept is a folder: move it away, or choose another place with -Dir" }
    $binary = $kept
    if (-not ((Test-Path -LiteralPath $kept) -and (Test-SvcSum $kept $sum))) {
      $binary = Join-Path $temp 'svc.exe'
      $chosen = $only
      if (-not $chosen) {
        $chosen = $program
        if ((Get-SvcSum $sums "$program.gz") -and ($From -match '^https?://' -or (Test-Path -LiteralPath (Join-Path $From "$place$program.gz")))) { $chosen = "$program.gz" }
      }
      if ($chosen -ne $program -and $chosen -ne "$program.gz") { throw "$chosen is not for this machine ($target), or cannot be unpacked here" }
      if (-not $Quiet) { Write-Host "Getting svc $signed for $target" }
      $got = Join-Path $temp $chosen
      Get-SvcFile $From "$place$chosen" $got 400000000
      if (-not (Test-SvcSum $got (Get-SvcSum $sums $chosen))) { throw "$chosen is not what SHA256SUMS says: it is damaged, or was changed" }
      if ($chosen -eq $program) {
        [IO.File]::Move($got, $binary)
      } else {
        $packed = [IO.File]::OpenRead($got)
        $whole = [IO.File]::Create($binary)
        $unpacking = New-Object IO.Compression.GZipStream($packed, [IO.Compression.CompressionMode]::Decompress)
        try { $unpacking.CopyTo($whole) } finally { $unpacking.Dispose(); $whole.Dispose(); $packed.Dispose() }
        if (-not (Test-SvcSum $binary $sum)) { throw "$chosen holds another file than SHA256SUMS says" }
      }
    }
    $trial = Invoke-SvcProgram $binary @('version', '--tag-only')
    if ($trial.Code -ne 0) { throw "the new svc does not run here: $($trial.Complaint)" }
    if ($trial.Said -cne $signed) { throw "the new svc says that it is '$($trial.Said)', and not ${signed}: not installed" }
    if (-not $verifier) {
      $verifier = 'the downloaded svc itself, as minisign is not here'
      $check = Invoke-SvcProgram $binary @('__verify', $sums, $signature)
      if ($check.Code -ne 0 -or $check.Said -cne $comment) { throw "the signature does not fit SHA256SUMS: $($check.Complaint)" }
      Write-Warning "the signature was checked by $verifier; that says less than a check by a tool that you have already"
    }

    if ($binary -ne $kept) { Move-SvcFile $binary $kept }
    $copy = Join-Path $temp 'link.exe'
    Copy-Item -LiteralPath $kept -Destination $copy
    Move-SvcFile $copy $link
    $receipt = @{ target = $target }
    if ($source) { $receipt.source = $source }
    if ($installed -and $installed -ne $signed) { $receipt.history = @($installed) }
    $note = Join-Path $temp 'receipt'
    [IO.File]::WriteAllText($note, (ConvertTo-Json -Compress $receipt) + "`n")
    Move-Item -LiteralPath $note -Destination (Join-Path $Dir '.svc-install.json') -Force
  } finally {
    Remove-Item -LiteralPath $temp -Recurse -Force -ErrorAction SilentlyContinue
    if (@(Get-ChildItem -LiteralPath $Dir -Force -ErrorAction SilentlyContinue).Count -eq 0) { Remove-Item -LiteralPath $Dir -Force -ErrorAction SilentlyContinue }
  }

  $onPath = @($env:Path -split ';' | Where-Object { $_ -and (Test-SvcSameFolder $_ $Dir) }).Count -gt 0
  if ($ModifyPath -and -not $onPath) {
    $changed = Edit-SvcPath {
      param([string[]]$Folders)
      if (@($Folders | Where-Object { Test-SvcSameFolder $_ $Dir }).Count -eq 0) { $Dir }
      $Folders
    }
    $env:Path = "$Dir;$env:Path"
    if ($changed -and -not $Quiet) { Write-Host "Added $Dir to your PATH; terminals that are open already need to be opened again." }
  }
  if ($Quiet) { return }
  Write-Host "Signature checked with $verifier."
  (Invoke-SvcProgram $link @('version')).Said
  'OS: windows'
  "Arch: $($target.Substring('windows-'.Length))"
  "Path: $kept"
}

& { Install-Svc -Version $Version -Dir $Dir -From $From -Key $Key -ModifyPath (-not $NoModifyPath -and -not $env:SVC_NO_MODIFY_PATH) -Uninstall $Uninstall -Quiet $Quiet }
