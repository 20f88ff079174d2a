# Filled by tools/release.
class Mnemon < Formula
  desc "@SUMMARY@"
  version "@VERSION@"
  license "@LICENCE@"

  on_macos do
    on_arm do
      url "@MAC_ARM_URL@"
      sha256 "@MAC_ARM_SHA256@"
    end
    on_intel do
      url "@MAC_INTEL_URL@"
      sha256 "@MAC_INTEL_SHA256@"
    end
  end

  on_linux do
    on_arm do
      url "@LINUX_ARM_URL@"
      sha256 "@LINUX_ARM_SHA256@"
    end
    on_intel do
      url "@LINUX_INTEL_URL@"
      sha256 "@LINUX_INTEL_SHA256@"
    end
  end

  def install
    bin.install "mnemon"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/mnemon.bash" => "mnemon"
    zsh_completion.install "completions/_mnemon"
    fish_completion.install "completions/mnemon.fish"
  end

  service do
    run [opt_bin/"mnemon", "serve"]
    keep_alive crashed: true
    log_path var/"log/mnemon.log"
    error_log_path var/"log/mnemon.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mnemon --version")
  end
end
