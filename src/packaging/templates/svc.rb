class Svc < Formula
  desc "Feature platform for real-time machine learning in one file"
  homepage "{{base}}"
  version "{{number}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{archive-url:darwin-arm64}}"
      sha256 "{{archive-sha256:darwin-arm64}}"
    end
    on_intel do
      url "{{archive-url:darwin-amd64}}"
      sha256 "{{archive-sha256:darwin-amd64}}"
    end
  end

  on_linux do
    on_arm do
      url "{{archive-url:linux-arm64}}"
      sha256 "{{archive-sha256:linux-arm64}}"
    end
    on_intel do
      url "{{archive-url:linux-amd64-baseline}}"
      sha256 "{{archive-sha256:linux-amd64-baseline}}"
    end
  end

  depends_on "python@3.13"

  # The file is the runtime and the program in it: stripping takes the program away.
  skip_clean "bin"

  def install
    bin.install "svc"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/svc.bash" => "svc"
    zsh_completion.install "completions/_svc"
    fish_completion.install "completions/svc.fish"
  end

  test do
    assert_equal "{{version}}", shell_output("#{bin}/svc version --tag-only").strip
  end
end
